"""Markdown as rows: blocks, inline styles, tables, coloured code, and citations of files that are checked."""
