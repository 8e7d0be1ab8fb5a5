"""Whatever a caller can do, declared once: tools, routes, commands, client and documents are derived from it."""
