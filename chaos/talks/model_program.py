"""
A model that can be installed as `claude`, from the standard library alone, because every session starts it anew.

It does what the person's words name: `reply` answers with the tool, `words` only by what it says last, `fail` breaks
off, and `slow` works for a while before it replies.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

REVISION = "2026-07-28"
META = "io.modelcontextprotocol/"
SLOW_SECONDS = 0.8


def main() -> None:
    found = re.search(r"#([a-z0-9-]+)/1# (\w+)", sys.stdin.read().split("---\n", 1)[1])
    assert found is not None
    words, how = f"#{found[1]}/1# Here you are.", found[2]
    say({"type": "system", "subtype": "init", "mcp_servers": [{"name": "postroom", "status": "connected"}]})
    if how == "fail":
        sys.exit(1)
    time.sleep(SLOW_SECONDS if how == "slow" else 0)
    if how in ("reply", "slow"):
        reply(words)
    say({"type": "result", "subtype": "success", "is_error": False, "result": words, "usage": {}})


def reply(words: str) -> None:
    (server,) = json.loads(Path(sys.argv[sys.argv.index("--mcp-config") + 1]).read_text())["mcpServers"].values()
    url, token = urlsplit(server["url"]), re.sub(r"\$\{(\w+)\}", in_environment, server["headers"]["Authorization"])
    meta = {
        f"{META}protocolVersion": REVISION,
        f"{META}clientInfo": {"name": "model", "version": "1"},
        f"{META}clientCapabilities": {},
    }
    arguments = {"channel": "telegram", "intent": "reply", "message": words}
    params = {"name": "notify", "arguments": arguments, "_meta": meta}
    headers = {
        "Authorization": token,
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": REVISION,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "notify",
    }
    connection = HTTPConnection(url.netloc, timeout=20)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    connection.request("POST", url.path, body, headers)
    connection.getresponse().read()


def in_environment(found: re.Match[str]) -> str:
    return os.environ.get(found[1], "")


def say(event: dict[str, object]) -> None:
    print(json.dumps(event), flush=True)


if __name__ == "__main__":
    main()
