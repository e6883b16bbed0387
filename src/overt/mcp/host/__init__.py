"""The MCP host process: it speaks `overt.mcp.messages` with Overt and MCP with servers. Only here is `mcp` imported."""
