"""Completion in the composer: commands, their arguments, files."""
