"""Start programs in a sandbox through a supervisor process."""
