"""Which command texts print names and numbers of things that are there, so that no word of theirs is an option."""

import re

from overt.safety._quoting import after_bracket, after_quote

TEXT = r"""(?:[^;&|`<>()'"\n]|'[^'\n]*'|"(?:[^"`(\n\\]|\\.)*"|2>(?:/dev/null|&1))*"""
LISTS = rf"""(?:
    git\s+(?:-C\s+[\w./"$~-]+\s+)?(?:ls-files|rev-list|rev-parse|merge-base|describe|symbolic-ref|for-each-ref|branch|tag|remote|worktree\s+list
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


FIRST = frozenset(
    """git docker podman kubectl which command pgrep pidof pwd nproc seq date basename dirname realpath readlink ls find
        fd hostname whoami id uname rg grep""".split()
)
LONGEST = 300


def lists_names(command: str) -> bool:
    if len(command) > LONGEST:
        return False
    if ("wc" in command or "cut" in command) and COUNTING.fullmatch(command):
        return MADE_UP.search(f" {command.strip()}") is None
    if not FIRST.intersection(command.split(maxsplit=1)[:1]):
        return False
    return LISTING.fullmatch(command) is not None and MADE_UP.search(f" {command.strip()}") is None


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
