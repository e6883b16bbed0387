"""What undo keeps: contents before edits, and states of the workspace around commands."""
