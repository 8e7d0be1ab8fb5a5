"""A part called once from a program that only waits for the answer: no event loop, quickly imported."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Final
from urllib.parse import urlsplit

from postroom.domain.errors import DeliveryTimeout, OutcomeUncertain
from postroom.world.peers.tool_call import CONNECT_SECONDS, Unreachable, headers, read, request

_MOST_BYTES: Final = 64 * 1024 * 1024


def call_once(
    name: str, url: str, token: str, tool: str, arguments: Mapping[str, Any], timeout_seconds: float
) -> dict[str, Any]:
    """Fails with the same errors as an HttpPeer."""
    body = json.dumps(request(1, tool, arguments, {})).encode()
    sent = {**headers(token), "Mcp-Name": tool, "Content-Type": "application/json"}
    try:
        connection, path = _connected(url)
    except (OSError, ValueError, HTTPException):
        raise Unreachable(f"{name} cannot be reached") from None
    try:
        connection.sock.settimeout(timeout_seconds)
        connection.request("POST", path, body=body, headers=sent)
        response = connection.getresponse()
        answer = json.loads(response.read(_MOST_BYTES))
    except TimeoutError:
        raise DeliveryTimeout(f"{name} did not answer in time") from None
    except (OSError, HTTPException, ValueError) as error:  # it may have done what we asked
        raise OutcomeUncertain(f"{name} broke off ({type(error).__name__})") from None
    finally:
        connection.close()
    return read(name, tool, response.status, answer)


def _connected(url: str) -> tuple[HTTPConnection, str]:
    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=CONNECT_SECONDS)
    connection.connect()
    return connection, f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
