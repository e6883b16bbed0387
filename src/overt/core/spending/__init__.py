"""Tokens, prices and what a session has cost."""
