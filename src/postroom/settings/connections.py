"""How programs on this machine reach their household: `connections.json`, and calls with what Python brings along."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, urlsplit

from postroom.kernel.running.files import replace_file

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse

# A hook starts before every step of a coding agent, and has 0.15 s: nothing that is imported here may take its time.

_NAME: Final = "connections.json"
_MOST_BYTES: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """`url` is that of the household's API port."""

    url: str
    token: str = field(repr=False)


def home_of(environment: Mapping[str, str], chosen: str | None) -> Path:
    """As the settings find it, without reading them: programs that start often have no time for that."""
    if home := chosen or environment.get("POSTROOM_HOME"):
        return Path(home).expanduser()
    data = environment.get("XDG_DATA_HOME") or Path(environment.get("HOME") or Path.home()) / ".local" / "share"
    return Path(data) / "postroom"


def connection_of(home: Path, program: str) -> Connection | None:
    """None when it was never connected, or the file cannot be read."""
    try:
        one = json.loads((home / _NAME).read_text(encoding="utf-8"))["programs"][program]
        return Connection(url=str(one["url"]), token=str(one["token"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read_all(home: Path) -> dict[str, Any]:
    try:
        document = json.loads((home / _NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        document = {}
    found = document if isinstance(document, dict) else {}
    return {part: dict(found[part]) if isinstance(found.get(part), dict) else {} for part in ("programs", "files")}


@contextlib.contextmanager
def changing(home: Path) -> Iterator[dict[str, Any]]:
    """What is in the file when this ends is written; never readable by others, never half."""
    document = read_all(home)
    before = json.dumps(document, sort_keys=True)
    yield document
    if json.dumps(document, sort_keys=True) != before:
        home.mkdir(parents=True, exist_ok=True)
        written = (json.dumps(document, indent=2, sort_keys=True) + "\n").encode()
        replace_file(home / _NAME, written)


class NoHousehold(Exception):
    """No answer that could be understood."""


class Caller:
    """
    The small caller of what starts often: the hook, `postroom` alone, and the bridge, which carries a client's own
    messages as they are. With `reach` and its acts each would start a fifth of a second later, and a run without a
    screen asks as the hook does. All others use `reach`.

    Follows no redirection and asks no proxy: neither must see the token.
    """

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

        said = {"Authorization": f"Bearer {self._connection.token}", "Content-Type": "application/json", **headers}
        try:
            link, there = link_to(self._connection.url, timeout_seconds)
        except ValueError:
            raise NoHousehold("no address") from None
        try:
            link.request(method, there.path.rstrip("/") + path, body=content, headers=said)
            return link, link.getresponse()
        except (OSError, HTTPException, ValueError) as error:
            link.close()
            raise NoHousehold(type(error).__name__) from None


def link_to(url: str, timeout_seconds: float) -> tuple[HTTPConnection, SplitResult]:
    """Not connected yet, with the parts of the address; raises ValueError for one that no household has."""
    from http.client import HTTPConnection, HTTPSConnection

    there = urlsplit(url)
    if there.scheme not in ("http", "https") or not there.hostname:
        raise ValueError("no address of a household")
    kind = HTTPSConnection if there.scheme == "https" else HTTPConnection
    return kind(there.hostname, there.port, timeout=timeout_seconds), there
