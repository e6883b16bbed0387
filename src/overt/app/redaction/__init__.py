"""Keep secrets out of everything that is recorded or shown."""
