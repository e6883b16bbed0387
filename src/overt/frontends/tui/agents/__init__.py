"""Sub-agents in the terminal: rows for the running ones, and the view of one."""
