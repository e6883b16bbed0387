"""What may have been meant instead of a name that does not exist."""

from collections.abc import Sequence


def nearest(name: str, known: Sequence[str], *, count: int = 3) -> tuple[str, ...]:
    """The names most like this one, the last part of `vendor/model` counting as well."""
    short: dict[str, str] = {}
    for candidate in known:
        short.setdefault(candidate.lower(), candidate)
        short.setdefault(candidate.lower().rpartition("/")[2], candidate)
    import difflib  # late: 4 ms

    close = difflib.get_close_matches(name.lower().rpartition("/")[2], list(short), n=count, cutoff=0.5)
    return tuple(dict.fromkeys(short[match] for match in close))


def nearest_spelling(name: str, known: Sequence[str], *, count: int = 3) -> tuple[str, ...]:
    """The names that this one may be a slip of the pen for: only very similar ones, upper and lower case apart."""
    import difflib  # late: 4 ms

    return tuple(difflib.get_close_matches(name, known, n=count, cutoff=0.75))


def exists_instead(name: str, known: Sequence[str]) -> str:
    """A sentence that names what exists."""
    if not known:
        return "Ask the server's owner which models it has, or look at `overt models`."
    close = nearest(name, known)
    if close and len(known) > 12:
        return f"Did you mean {_list(close)}? It has {len(known)} models; `overt models` lists them."
    hint = f" Did you mean {_list(close)}?" if close else ""
    more = f" and {len(known) - 12} more" if len(known) > 12 else ""
    return f"It has {', '.join(known[:12])}{more}.{hint}"


def _list(names: Sequence[str]) -> str:
    return " or ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]
