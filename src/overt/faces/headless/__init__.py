"""One prompt, one result."""
