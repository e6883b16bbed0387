"""MCP servers of a session: which ones there are, and the files that name them."""
