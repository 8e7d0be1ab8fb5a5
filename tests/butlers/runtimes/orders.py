"""An order as every runtime gets it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from postroom.butlers.model import Order

RECORDINGS = Path(__file__).with_name("recordings")


def order(**changes: Any) -> Order:
    given: dict[str, Any] = {
        "session_id": "s1",
        "prompt": "canary-prompt",
        "server": "general",
        "mcp_url": "http://127.0.0.1:40101/mcp",
        "token": "pr_session_canary",
        "home": Path("/s/home"),
        "work": Path("/s/work"),
        "timeout_seconds": 300.0,
        "model": "m-1",
        "credentials": {},
        "arguments": ["--extra"],
    }
    return Order(**(given | changes))


def recording(name: str) -> bytes:
    """What the real program printed."""
    return (RECORDINGS / f"{name}.jsonl").read_bytes()
