"""Hooks of a session: what is configured, how it runs, and the ledger of what ran."""
