"""What the requests of a session hold beside the conversation itself."""
