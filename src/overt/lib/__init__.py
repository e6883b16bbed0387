"""Verbs without domain."""
