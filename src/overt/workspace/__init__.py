"""Hands: the only code that touches files and programs for a tool."""
