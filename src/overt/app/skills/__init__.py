"""Skills in a session: which there are, how they are loaded, and the commands that run them."""
