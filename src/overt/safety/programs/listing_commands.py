"""Which command texts print names and numbers of things that are there, so that no word of theirs is an option."""

import re
import shlex
from collections.abc import Sequence

from overt.safety.shell.quoting import after_bracket, after_quote

TEXT = r"""(?:[^;&|`<>()'"\n]|'[^'\n]*'|"(?:[^"`(\n\\]|\\.)*"|2>(?:/dev/null|&1))*"""
LISTS = rf"""(?:
    git\s+grep{TEXT}\s-\w*l\w*
    |git\s+(?:-C\s+[\w./"$~-]+\s+)?(?:ls-files|rev-list|rev-parse|merge-base|describe|symbolic-ref|for-each-ref|branch|tag|remote|worktree\s+list
        |(?:diff|show|ls-tree|log|diff-tree){TEXT}\s(?:--name-only|--(?:pretty|format)=["']?(?:format:)?%[hH]["']?))
    |(?:docker|podman)\s+(?:ps|images|volume\s+ls|network\s+ls|container\s+ls|image\s+ls)
    |kubectl{TEXT}\sget|which|command\s+-v|pgrep|pidof|pwd|nproc|seq|date|basename|dirname|realpath|readlink|ls|find|fd|hostname|whoami|id|uname
    |rg{TEXT}\s(?:-\w*l\w*|--files|--files-with-matches)|grep{TEXT}\s-\w*[lL]\w*
    )(?=[\s;)`]|$)"""
FILTERS = r"(?:sort|head|tail|uniq|tac|grep|egrep|wc|awk\s+'\{\s*print\s+\$(?:\d+|NF)\s*\}')(?=\s|$)"
COUNTING = re.compile(
    rf"""{TEXT}(?:\|{TEXT})*\|\s*wc(?:\s+-\w)*\s*
    |\s*wc(?:\s+-\w)*\s*<?\s*[\w./$"{{}}]+\s*
    |\s*grep{TEXT}\s(?:-\w*n\w*){TEXT}(?:\|\s*(?:head|tail){TEXT})*\|\s*cut\s+(?:-d\s*['"]?:['"]?\s+-f\s*1|-f\s*1\s+-d\s*['"]?:['"]?)\s*
        (?:\|\s*(?:head|tail){TEXT})*""",
    re.VERBOSE,
)
"""Commands that print a number, or the number of a line."""

LISTING = re.compile(rf"\s*{LISTS}{TEXT}(?:\|\s*{FILTERS}{TEXT})*", re.VERBOSE)

MADE_UP = re.compile(
    r"""[=+/"'\\]-|--format=(?!["']?(?:format:)?%)|--(?:pretty|line-prefix|src-prefix|separator)\b|printf|\s--\s+-|\\|\sgrep\s.*-\w*o
    |(?:seq|basename|dirname|realpath|readlink|id|uname|hostname)\s.*(?:^|\s)-\w*[fst-]|git\s+rev-parse(?:\s.*)?\s-(?!-(?:short|abbrev-ref|verify|show-toplevel
    |show-prefix|git-dir|show-cdup|symbolic-full-name|is-inside-work-tree|absolute-git-dir|quiet)\b)""",
    re.VERBOSE | re.DOTALL,
)
"""What makes such a command print words of its caller's choice."""

TAME = re.compile(
    r"""(?:[\w./:@,+~%^=]|(?<!^)-
    |\$(?P<plain>[A-Za-z_]\w*)|\$\{(?P<braced>[A-Za-z_]\w*)(?:(?:\#\#?|%%?)[^}$`]*|:?[-=+][^-}$`\s"'\\][^}$`\s"'\\]*|:\d+:\d+)?\}
    |\$\(\([^()`]*\)\))+""",
    re.VERBOSE,
)
REFERENCES = re.compile(r"\$\{?[!#]?([A-Za-z_]\w*|[0-9@*])")


NOT_IGNORED = ":not-ignored"
"""Stands among places for all files of the workspace that git does not ignore."""

REVISION = ":revision:"
"""Stands before the name of a commit among places: for all files that this commit holds."""

LONGEST = 300


def lists_names(command: str) -> bool:
    if len(command) > LONGEST:
        return False
    if ("wc" in command or "cut" in command) and COUNTING.fullmatch(command):
        return MADE_UP.search(f" {command.strip()}") is None
    return LISTING.fullmatch(command) is not None and MADE_UP.search(f" {command.strip()}") is None


def listed_places(command: str) -> tuple[str, ...]:
    """Where the names lie that such a command prints: paths and globs, or nothing where that is not certain."""
    try:
        words = shlex.split(command.partition("|")[0])
    except ValueError:
        return ()
    program, *args = words or [""]
    if any(mark in word for word in words for mark in "$`") or not args:
        return ()
    options = [word for word in args if word.startswith("-") and word != "--"]
    operands = [word for word in args if not word.startswith("-")]
    if program == "git":
        return (NOT_IGNORED,) if _lists_index(operands, options) else ()
    if program in ("rg", "fd", "fdfind"):  # names that are given are searched even if git ignores them
        return (NOT_IGNORED, *_followed(operands)) if all(map(KEEPS_IGNORED.fullmatch, options)) else ()
    if program == "ls":  # of a folder it prints bare names
        hidden = any(re.fullmatch(r"-\w*[aAf]\w*|--(?:almost-)?all", option) for option in options)
        return (*operands, "*", *((".*",) if hidden else ()))
    if program == "grep":
        whole = any(re.fullmatch(r"-\w*[efdR].*|--(?:reg|file|dir|deref).*", each) for each in options)
        return () if whole else _followed(operands[1:])
    return found_places(args) if program == "find" else ()


KEEPS_IGNORED = re.compile(r"-[lnicwFsSq0]+|-[te]\w*|--(?:files|files-with-matches|type(?:=\w+)?|null|sort=\w+)")
"""Options of `rg` and `fd` that leave out what git ignores."""


def _lists_index(operands: Sequence[str], options: Sequence[str]) -> bool:
    """True if git prints names that it has in its index, and neither those it ignores nor those of an old commit."""
    if operands[:1] == ["ls-files"]:
        return not any(re.fullmatch(r"-\w*[oix].*|--(?:o|i|e).*", option) for option in options)
    if operands[:1] == ["grep"]:
        return not any(re.match(r"--(?:no-index|untracked|no-ex)", option) for option in options)
    return operands == ["diff"] and "--no-index" not in options


def _followed(paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{path.rstrip('/')}/" for path in paths if path.rstrip("/"))


def found_places(args: Sequence[str]) -> tuple[str, ...]:
    """What `find` may name: a name in any folder below its roots where one is given, else all that lies there."""
    start = next((at for at, word in enumerate(args) if word[:1] in ("-", "(", "!")), len(args))
    roots, tests = args[:start] or ["."], list(args[start:])
    if {"-L", "-H", "-follow", "-files0-from"}.intersection(args):
        return ()
    plain = not {"-o", "-or", "!", "-not", ","}.intersection(tests) and tests.count("-name") == 1
    name = next(iter(tests[tests.index("-name") + 1 :]), "") if plain else ""
    return tuple(f"{root}/**/{name}" if name and "/" not in name else root for root in roots)


def substituted_names(word: str) -> bool:
    """A word that is such a command's output, with no more than a plain text behind it."""
    bare = word.strip('"')
    if bare.startswith("$("):
        end = after_bracket(bare, 1)
        inside, rest = bare[2 : end - 1], bare[end:]
    elif bare.startswith("`"):
        end = after_quote(bare, 0)
        inside, rest = bare[1 : end - 1], bare[end:]
    else:
        return False
    return lists_names(inside) and re.fullmatch(r"[\w./:@^~%+,=-]*", rest) is not None


def references(text: str) -> set[str]:
    return set(REFERENCES.findall(text))


def tame(value: str) -> bool:
    """A value put together from names and what comes from outside: never an option if those it refers to are none."""
    bare = value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value
    return substituted_names(bare) or (not bare.startswith("-") and TAME.fullmatch(bare) is not None)
