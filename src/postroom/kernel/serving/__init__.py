"""Servers over HTTP and MCP: what every door of the household stands on."""

from typing import Final

# The stateless revision of MCP, which parts of a household speak among themselves. It stands here because a command
# that makes one call has no time to import the SDK.
REVISION: Final = "2026-07-28"
