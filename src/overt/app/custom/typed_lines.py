"""What a line that a user types is meant for: a command, a note, or the model. Light enough for the first screen."""


def names_command(text: str) -> bool:
    """True if a line is meant for a command. `/usr/lib is full` is a prompt: no command has a slash in its name."""
    return text.startswith("/") and "/" not in text[1:].partition("\n")[0].split(" ", 1)[0]


def expand_note(text: str) -> str:
    """Return the command that `# text` stands for, a note for this project; `## text` is one for every project.

    Several lines that begin with a heading are a prompt, and so is `#12 is broken`.
    """
    marks, blank, note = text.strip().partition(" ")
    if marks not in ("#", "##") or not blank or "\n" in note:
        return text
    return f"/memory add {'--global ' if marks == '##' else ''}{note.strip()}"
