"""Shell text taken apart: words, quotes, variables, simple commands."""
