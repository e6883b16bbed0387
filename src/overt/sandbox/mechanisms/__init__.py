"""The walls of a sandbox, one module for each kind, and the limits inside of it."""
