"""Identifiers: short, random, unique enough for one person's machine."""

from os import urandom


def new_id(characters: int = 8) -> str:
    return urandom((characters + 1) // 2).hex()[:characters]
