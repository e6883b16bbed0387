"""Edit for small models: they copy with other spacing, quotes or indentation, and it is clear what they meant.

Only a unique hit counts, and what was put right is said. An edit that would stop a file from parsing is refused,
because a model of this size does not find its way back from there.
"""

from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from overt.core.capabilities import Change, WriteFiles
from overt.core.errors import ToolError
from overt.core.tool import Outcome
from overt.core.views import FileDiff
from overt.lib.syntax import parse_error
from overt.tools._result_texts import report_changes
from overt.tools.edit import edit as full_edit
from overt.tools.small_model._approximate_edit import possible_edits

SHOWN = 12


class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str
    why: Annotated[str, Meta(description="What is wrong or missing there")] = ""
    old: Annotated[str, Meta(description="The lines to replace, copied from the file")]
    new: Annotated[str, Meta(description="The lines to put there")]
    all: Annotated[bool, Meta(description="Replace every place, not only one")] = False

    def subjects(self) -> tuple[str, ...]:
        return (self.path,)


@full_edit.variant
async def edit(args: Args, files: WriteFiles) -> Outcome:
    """Replace a piece of a file; with an empty `old`, add to its end."""
    file = await files.text(args.path)
    broken = parse_error(file.path, file.text)
    first = ""
    for text, note in possible_edits(file.text, args.old, args.new, every=args.all):
        trouble = "" if broken else parse_error(file.path, text)
        if not trouble:
            diffs = await files.change([Change(path=args.path, content=text, base=file.hash)])
            outcome = report_changes(diffs)
            return replace(outcome, text=f"{outcome.text}\n{_lines(diffs)}".strip(), repaired=note)
        first = first or trouble
    advice = "Give whole lines in old and new, with their indentation."
    if not args.old.strip():
        advice = "Copy the line where it belongs into old, and give that line with the addition as new."
    raise ToolError(
        f"Nothing was changed: with this edit {file.path} would not parse any more: {first}. {advice}", code="breaks"
    )


def _lines(diffs: tuple[FileDiff, ...]) -> str:
    """Return the removed and added lines, so that the model sees what it did."""
    lines = [line for diff in diffs for line in diff.diff.splitlines() if line[:1] in ("+", "-")]
    return "\n".join([*lines[:SHOWN], *(["…"] if len(lines) > SHOWN else [])])
