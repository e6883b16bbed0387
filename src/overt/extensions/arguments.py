"""Fill the arguments of a command or a skill into its text.

`$1` is the first argument; in a text that has `$0`, that is the first one, as Claude Code counts. `$ARGUMENTS` are all
of them, `$ARGUMENTS[0]` is the first. `$$` is a dollar.
"""

import re
import shlex
from collections.abc import Callable, Mapping

PLACE = re.compile(r"\$\$|\$ARGUMENTS\[(\d{1,3})\]|\$ARGUMENTS\b|\$(\d)(?!\d)|\$\{([A-Z_]+)\}")


def split_arguments(text: str) -> list[str]:
    """Split arguments as a shell does; quotes keep words together."""
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def fill_arguments(
    text: str,
    arguments: str,
    variables: Mapping[str, str] | None = None,
    *,
    quote: Callable[[str], str] = lambda value: value,
    positional: bool = True,
) -> str:
    """Replace the placeholders of a text. A missing argument is empty; those without a place are appended.

    `variables` are the values of `${NAME}`; other names stay as they are. `quote` is applied to each value. Without
    `positional`, `$1` and `$$` stay as they are: the text may hold shell scripts and takes no arguments.
    """
    variables, words, used = variables or {}, split_arguments(arguments), set[int]()
    first = 0 if re.search(r"(?<!\$)\$0(?!\d)", text) else 1

    def fill(match: re.Match[str]) -> str:
        index, number, name = match[1], match[2], match[3]
        if name is not None:
            return quote(variables[name]) if name in variables else match[0]
        if number is None and index is None:
            if match[0] == "$$":
                return "$" if positional else "$$"
            used.update(range(len(words)))
            return quote(arguments)
        if number is not None and not positional:
            return match[0]
        place = int(index) if index is not None else int(number) - first
        used.add(place)
        return quote(words[place]) if 0 <= place < len(words) else ""

    filled = PLACE.sub(fill, text)
    rest = [word for place, word in enumerate(words) if place not in used]
    if not rest:
        return filled
    return f"{filled.rstrip()}\n\nARGUMENTS: {arguments if not used else shlex.join(rest)}\n"
