"""What users add to a session with files of their own."""
