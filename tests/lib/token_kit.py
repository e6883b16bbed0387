"""Texts with the tokens that the vocabulary of the embedded model makes of them."""

from pathlib import Path

from msgspec import Struct, json


class Counted(Struct, frozen=True):
    kind: str
    text: str
    tokens: int


TEXTS = json.decode((Path(__file__).parents[1] / "data" / "token_texts.json").read_bytes(), type=list[Counted])


def of(*kinds: str) -> list[Counted]:
    return [each for each in TEXTS if each.kind in kinds]
