"""The composer: the text being written, its editing keys, its history, and the menu of completions."""
