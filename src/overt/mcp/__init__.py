"""MCP servers: their tools, prompts and resources, through one host process per workspace."""
