"""Undo: put files and git back to how they were before a turn, and limit what that takes on disk."""
