"""The log of this process, saved replies and tracebacks."""
