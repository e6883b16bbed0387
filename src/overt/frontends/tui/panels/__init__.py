"""Inspectors: what is looked into on the alternate screen, while the scrollback stays as it is."""
