"""All that touches private or unstable names of the MCP SDK; its tests name the versions they hold for."""
