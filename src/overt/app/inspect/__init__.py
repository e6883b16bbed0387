"""Queries that commands, inspectors and subcommands share, and the values they return."""
