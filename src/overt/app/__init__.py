"""Everything assembled: the one API that frontends use."""
