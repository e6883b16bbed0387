"""Sub-agents in the terminal: the rows of those that run, and one of them opened."""
