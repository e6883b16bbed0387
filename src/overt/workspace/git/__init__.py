"""Read, summarise and restore the git repository of the workspace."""
