"""Definitions of agents, and the events that a session records about its sub-agents."""
