"""Help for small models: what they need is put before them, and their answers are checked."""
