"""Write for small models: they give a piece of a file where the whole was meant."""

from collections import Counter

from overt.core.capabilities import Change, WriteFiles
from overt.core.errors import ToolError
from overt.core.tool import Outcome, Tool
from overt.lib.syntax import parse_error
from overt.tools._result_texts import report_changes
from overt.tools.write import Args
from overt.tools.write import write as full_write

FEW = 3


def careful_write() -> Tool:
    """Make a tool that remembers what it refused: if the same content comes again, it is written."""
    refused: set[tuple[str, str]] = set()

    @full_write.variant
    async def write(args: Args, files: WriteFiles) -> Outcome:
        """Create a file, or replace all of one."""
        before = await _text(args.path, files)
        if before and _trimmed(before) == _trimmed(args.content):
            raise ToolError(f"{args.path} holds just that already; nothing was changed.", code="same")
        if why := _unlikely(args, before):
            asked = (args.path, args.content)
            if asked not in refused:
                refused.add(asked)
                raise ToolError(f"Nothing was written: {why}. To change a part of a file use edit.", code="drops")
        if before and not parse_error(args.path, before) and (trouble := parse_error(args.path, args.content)):
            raise ToolError(
                f"Nothing was written: {args.path} would not parse any more: {trouble}. To change a part use edit.",
                code="breaks",
            )
        end = "\n" if before.endswith("\n") and not args.content.endswith("\n") else ""
        return report_changes(await files.change([Change(path=args.path, content=args.content + end, base="seen")]))

    return write


def _unlikely(args: Args, before: str) -> str:
    """Return why this is probably not meant to be the whole file, or an empty string."""
    lines, kept = _lines(before), _lines(args.content)
    gone = (lines - kept).total()
    if gone <= FEW or gone * 2 <= lines.total():
        return ""
    return f"write replaces the whole file, and {gone} of the {lines.total()} lines of {args.path} would be gone"


def _trimmed(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]


def _lines(text: str) -> Counter[str]:
    return Counter(line.strip() for line in text.splitlines() if line.strip())


async def _text(path: str, files: WriteFiles) -> str:
    try:
        return (await files.text(path)).text
    except ToolError:
        return ""  # nothing there, or nothing that could be read: writing it will say what is wrong
