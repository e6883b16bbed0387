"""What single programs do with their arguments, by tables and handlers."""
