"""Read one configuration file or value and check it."""
