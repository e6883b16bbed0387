"""How redaction treats the strings of an event.

Every string is searched for secrets, at any depth. The types below are the only exceptions, so a field that nobody
thought about is redacted too much rather than too little.
"""

from typing import Annotated, Literal

from msgspec import Struct


class Treatment(Struct, frozen=True):
    """`exact` and `seal` are never searched. `whole`: if there is a secret in it, all of it becomes `instead`."""

    kind: Literal["exact", "seal", "json", "whole"]
    instead: str = ""


Exact = Annotated[str, Treatment("exact")]
"""The program compares it or looks it up later, and nobody writes prose into it: an id, a hash, a path that undo
restores, the configured name of a model. It is never changed."""

Seal = Annotated[str, Treatment("seal")]
"""It vouches for the other fields of its struct, like a signature. It is emptied if a secret is removed from them."""

JsonText = Annotated[str, Treatment("json")]
"""JSON, valid or not. Secrets are also found if they are written with escapes, and valid JSON stays valid."""

ToolName = Annotated[str, Treatment("whole", instead="redacted")]
"""Servers accept only letters, digits and `_` here, so the usual mark for a secret would not do."""

RuleText = Annotated[str, Treatment("whole")]
"""A rule that can be stored. One with a secret in it is not offered, and one with a mark in it would be useless."""
