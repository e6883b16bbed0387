"""How tools word what they did."""

from overt.core.tool import Outcome
from overt.core.views import Diffs, FileDiff
from overt.lib.text import clip

MAX_BYTES = 30_000
MAX_TOKENS = 7_500


def changed(diffs: tuple[FileDiff, ...], note: str = "") -> Outcome:
    """One line for each file: what happened to it and how many lines came and went."""
    lines = []
    for diff in diffs:
        counts = f" (+{diff.added} -{diff.removed})" if diff.change != "unchanged" else ""
        lines.append(f"{diff.change} {diff.path}{counts}{note}")
    return Outcome(text="\n".join(lines), view=Diffs(files=diffs))


def bounded(text: str, hint: str) -> str:
    return clip(text, MAX_BYTES, MAX_TOKENS, hint)
