"""
Carry each message between a client that starts programs and the household's MCP server over HTTP.

The client's files name this command and no token; the token is read here. A household that restarts
is greeted again, with the client's own words, so that the client's session goes on.
"""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any, Final

from postroom.settings.connections import Caller, Connection, NoHousehold

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse

_PATH: Final = "/mcp"
_SECONDS: Final = 3600.0  # no byte for so long: the household pings a stream far more often
_VERSION_META: Final = "io.modelcontextprotocol/protocolVersion"
_GONE: Final = -32000
_GREETING: Final = "initialize"
_GREETED: Final = "notifications/initialized"
_CANCELLED: Final = "notifications/cancelled"
_NAMES: Final = ("name", "uri", "taskId")
McpMessage = dict[str, Any]


class Bridge:
    """One line in is one message; requests run beside each other, and what comes back is written line by line."""

    def __init__(self, connection: Connection, write: Callable[[str], None]) -> None:
        self._caller = Caller(connection)
        self._url = connection.url
        self._write = write
        self._writing = threading.Lock()
        self._greeting: McpMessage | None = None
        self._session: str | None = None
        self._version: str | None = None
        self._under_way: dict[Any, HTTPConnection] = {}
        self._greeting_again = threading.Lock()
        self._not_awaited: set[Any] = set()

    def run(self, lines: Iterator[str]) -> None:
        for line in lines:
            message = _read(line)
            if message is None:
                continue
            if message.get("method") in (_GREETING, _GREETED):  # what follows needs the session that this begins
                self._carry(message)
                continue
            if message.get("method") == _CANCELLED:
                self._hang_up(message)
            threading.Thread(target=self._carry, args=(message,), daemon=True).start()
        self._end_session()

    def _carry(self, message: McpMessage) -> None:
        if message.get("method") == _GREETING:
            self._greeting, self._session = message, None
        try:
            if self._sent(message) == 404 and self._greet_again():
                self._sent(message)
        except NoHousehold:
            self._apologise(message)

    def _sent(self, message: McpMessage) -> int:
        """The answer's status; 404 is a session that the household does not know any more, and nothing was written."""
        content = json.dumps(message).encode()
        link, response = self._caller.opened("POST", _PATH, content, self._headers(message), _SECONDS)
        identifier = message.get("id") if "method" in message else None
        if identifier is not None:
            self._under_way[identifier] = link
        try:
            self._take_answer(message, response)
        finally:
            self._under_way.pop(identifier, None)
            link.close()
        return response.status

    def _take_answer(self, message: McpMessage, response: HTTPResponse) -> None:
        from http.client import HTTPException

        if response.status == 404 and self._session:
            return
        if message.get("method") == _GREETING:
            self._session = response.headers.get("Mcp-Session-Id")
        is_request = "id" in message and "method" in message
        has_answered = False
        with contextlib.suppress(OSError, HTTPException, ValueError):
            for one in _messages(response):
                has_answered = has_answered or ("method" not in one and one.get("id") == message.get("id"))
                self._take(message, one)
        if is_request and not has_answered:
            self._apologise(message, response.status)

    def _take(self, asked: McpMessage, one: McpMessage) -> None:
        if asked.get("method") == _GREETING and isinstance(one.get("result"), dict):
            self._version = one["result"].get("protocolVersion")
        if "method" in one or ("id" in asked and asked["id"] not in self._not_awaited):
            self._say(one)

    def _headers(self, message: McpMessage) -> dict[str, str]:
        """As the transport wants them; newer revisions name method and version of each call."""
        headers = {"Accept": "application/json, text/event-stream"}
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        meta = params.get("_meta")
        own = meta.get(_VERSION_META) if isinstance(meta, dict) else None
        if isinstance(own, str):
            name = next((params[one] for one in _NAMES if isinstance(params.get(one), str)), None)
            named = {"Mcp-Name": name} if name and name.isascii() and name.isprintable() else {}
            return {**headers, "MCP-Protocol-Version": own, "Mcp-Method": str(message.get("method")), **named}
        if self._session and message.get("method") != _GREETING:
            headers["Mcp-Session-Id"] = self._session
        if self._version and message.get("method") != _GREETING:
            headers["MCP-Protocol-Version"] = self._version
        return headers

    def _greet_again(self) -> bool:
        """With the client's own greeting; the answer is not the client's business any more."""
        with self._greeting_again:
            if self._greeting is None:
                return False
            link, response = self._caller.opened(
                "POST", _PATH, json.dumps(self._greeting).encode(), self._headers(self._greeting), _SECONDS
            )
            for _ in _messages(response):
                pass
            link.close()
            self._session = response.headers.get("Mcp-Session-Id")
            done = {"jsonrpc": "2.0", "method": _GREETED}
            link, response = self._caller.opened(
                "POST", _PATH, json.dumps(done).encode(), self._headers(done), _SECONDS
            )
            link.close()
            return response.status < 400

    def _hang_up(self, message: McpMessage) -> None:
        """What the client does not wait for any more: the household ends its waiting, never the question."""
        params = message.get("params")
        identifier = params.get("requestId") if isinstance(params, dict) else None
        if not isinstance(identifier, str | int):
            return
        self._not_awaited.add(identifier)  # before its answer begins, too: what then comes is for nobody
        link = self._under_way.pop(identifier, None)
        if link is not None and link.sock is not None:
            with contextlib.suppress(OSError):
                link.sock.shutdown(socket.SHUT_RDWR)

    def _apologise(self, message: McpMessage, status: int | None = None) -> None:
        """A request is never left without an answer."""
        if "id" not in message or "method" not in message or message["id"] in self._not_awaited:
            return
        words = {
            None: f"The household does not answer at {self._url}; `postroom up` starts it.",
            401: "The household does not know this token any more: `postroom connect` makes another.",
        }
        told = words.get(status, f"The household answered {status}.")
        self._say({"jsonrpc": "2.0", "id": message["id"], "error": {"code": _GONE, "message": told}})

    def _say(self, message: McpMessage) -> None:
        with self._writing:
            self._write(json.dumps(message, ensure_ascii=False) + "\n")

    def _end_session(self) -> None:
        if self._session is None:
            return
        with contextlib.suppress(NoHousehold):
            link, _ = self._caller.opened("DELETE", _PATH, None, {"Mcp-Session-Id": self._session}, 2.0)
            link.close()


def run(connection: Connection) -> None:
    def write(line: str) -> None:
        sys.stdout.write(line)
        sys.stdout.flush()

    sys.stdin.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    Bridge(connection, write).run(_lines(sys.stdin))


def _lines(source: IO[str]) -> Iterator[str]:
    try:
        yield from source
    except (KeyboardInterrupt, OSError):
        return


def _read(line: str) -> McpMessage | None:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def _messages(response: HTTPResponse) -> Iterator[McpMessage]:
    """Of a JSON answer, or of a stream of events as they come."""
    if response.headers.get_content_type() != "text/event-stream":
        message = _read(response.read().decode("utf-8", "replace"))
        if message is not None and "jsonrpc" in message:
            yield message
        return
    data: list[str] = []
    for raw in response:
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            message = _read("\n".join(data))
            data = []
            if message is not None:
                yield message
