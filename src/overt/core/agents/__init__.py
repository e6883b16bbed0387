"""Agents by their definition, and what a session records of those it starts."""
