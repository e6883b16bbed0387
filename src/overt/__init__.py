"""Overt: a coding agent for the terminal with nothing hidden."""

__version__ = "0.1.0"
