"""The chat that lives in the terminal's own scrollback: finished things are printed once, above a small live region."""
