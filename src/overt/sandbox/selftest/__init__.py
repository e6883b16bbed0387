"""Try the walls of a sandbox from inside, for real."""
