"""Judgement, pure."""
