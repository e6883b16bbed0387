"""Nouns: frozen, serialisable, no I/O, importing nothing of ours."""
