"""Plugins of a session, and adding, updating and removing them."""
