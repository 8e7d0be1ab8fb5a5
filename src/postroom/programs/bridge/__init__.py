"""MCP over standard input and output on one side, the household's `/mcp` on the other."""
