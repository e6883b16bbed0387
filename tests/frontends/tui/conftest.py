"""A chat to sit down at, for every test of this folder."""

from tests.frontends.tui.chat_kit import desks

__all__ = ["desks"]
