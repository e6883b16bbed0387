"""Everything assembled: the one API that faces use."""
