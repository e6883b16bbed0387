"""Flags and subcommands."""
