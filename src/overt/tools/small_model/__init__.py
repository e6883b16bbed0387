"""Tools for small models: the same names with fewer arguments, and forgiving about what such models get wrong."""
