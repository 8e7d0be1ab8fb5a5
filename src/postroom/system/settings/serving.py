"""How many callers there is room for."""

from __future__ import annotations

from postroom.system.settings.section import Positive, Seconds, SettingsSection


class ServingSettings(SettingsSection):
    """How many callers a process serves at once, whoever they are."""

    connections: Positive = 2000
    """Connections in all; fewer when the system allows this process fewer open files."""
    connections_per_peer: Positive = 500
    """Connections from one address; the oldest that is not being served, or sends nothing more, makes room."""
    requests_per_caller: Positive = 200
    """Requests of one token that may be under way at once, those that wait and streams among them."""
    head_seconds: Seconds = 10.0
    """How long the head of a request may take."""
    mcp_sessions: Positive = 1000
    """MCP sessions that stay open on one port; the least recently used goes first."""
    mcp_sessions_per_caller: Positive = 100
    """The same of one caller."""
