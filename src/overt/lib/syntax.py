"""Check that a file still parses after a change."""

import warnings

from overt.core.codec import decode

SYNTAX_ONLY = 0x400
"""`ast.PyCF_ONLY_AST`, without importing ast."""


def parse_error(path: str, text: str) -> str:
    """Return why a .py, .json or .toml file does not parse, or an empty string if it does or is another file."""
    kind = path.rpartition(".")[2].lower()
    try:
        if kind == "py":
            with warnings.catch_warnings(action="ignore"):  # an odd escape is none of our business
                compile(text, path, "exec", SYNTAX_ONLY, dont_inherit=True)
        elif kind == "json":
            decode(text or "null")
        elif kind == "toml":
            import tomllib  # late: 2 ms

            tomllib.loads(text)
    except SyntaxError as error:
        line = (error.text or "").strip()
        return f"line {error.lineno}: {error.msg}" + (f": {line}" if line else "")
    except (ValueError, RecursionError, MemoryError) as error:
        return str(error)
    return ""
