"""Calls to the household with what Python brings along, for programs that must start at once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from postroom.programs.connections import Connection

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse

_MOST_BYTES: Final = 4 * 1024 * 1024


class NoHousehold(Exception):
    """No answer that could be understood."""


class Caller:
    """Follows no redirection and asks no proxy: neither must see the token."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def call(
        self, method: str, path: str, body: Any = None, *, timeout_seconds: float, key: str | None = None
    ) -> tuple[int, dict[str, Any]]:
        headers = {"Idempotency-Key": key} if key else {}
        content = None if body is None else json.dumps(body).encode()
        link, response = self.opened(method, path, content, headers, timeout_seconds)
        try:
            document = json.loads(response.read(_MOST_BYTES))
        except Exception as error:
            raise NoHousehold(type(error).__name__) from None
        finally:
            link.close()
        if not isinstance(document, dict):
            raise NoHousehold("no object")
        return response.status, document

    def opened(
        self, method: str, path: str, content: bytes | None, headers: dict[str, str], timeout_seconds: float
    ) -> tuple[HTTPConnection, HTTPResponse]:
        """The answer's head; its body is the caller's to read, and the connection to close."""
        from http.client import HTTPException

        link, below = self._link(timeout_seconds)
        said = {"Authorization": f"Bearer {self._connection.token}", "Content-Type": "application/json", **headers}
        try:
            link.request(method, below + path, body=content, headers=said)
            return link, link.getresponse()
        except (OSError, HTTPException, ValueError) as error:
            link.close()
            raise NoHousehold(type(error).__name__) from None

    def _link(self, timeout_seconds: float) -> tuple[HTTPConnection, str]:
        from http.client import HTTPConnection

        try:
            there = urlsplit(self._connection.url)
            port = there.port
        except ValueError:
            raise NoHousehold("no address") from None
        if there.scheme == "https":
            from http.client import HTTPSConnection

            return HTTPSConnection(there.hostname or "", port, timeout=timeout_seconds), there.path.rstrip("/")
        if there.scheme != "http" or not there.hostname:
            raise NoHousehold("no address")
        return HTTPConnection(there.hostname, port, timeout=timeout_seconds), there.path.rstrip("/")
