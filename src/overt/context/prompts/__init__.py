"""Texts written by us for models, as files."""
