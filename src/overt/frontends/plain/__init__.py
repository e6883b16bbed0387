"""A line-by-line chat for any terminal."""
