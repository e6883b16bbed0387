"""What an answer needs to be drawn, loaded while the model still thinks."""

from overt.core.late import late

NEEDED = ("tui.markdown", "markdown_it", "tui.diffs", "citations")
COMMON = "python"
"""The language whose code is met first."""


def load() -> None:
    for name in NEEDED:
        late(name)
    late("tui.highlighter")(COMMON).feed("x = 1\n")
