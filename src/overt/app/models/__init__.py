"""Models of a session: which are there, which one is used, and how it calls tools."""
