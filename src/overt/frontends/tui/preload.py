"""Load what drawing an answer needs, while the model still thinks."""

COMMON = "python"
"""The language of code that answers contain most often."""


def load() -> None:
    import markdown_it  # noqa: F401  # late: 37 ms

    from overt.app.chat import citations  # noqa: F401  # late: 9 ms
    from overt.frontends.tui.chat import diffs  # noqa: F401  # late: 32 ms
    from overt.frontends.tui.markdown import markdown  # noqa: F401  # late: 25 ms
    from overt.frontends.tui.markdown.highlight import Highlighter  # late: 13 ms

    Highlighter(COMMON).feed("x = 1\n")
