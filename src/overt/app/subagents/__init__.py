"""Sub-agents: ordinary sessions that an agent starts, in a tree that the user can watch and stop."""
