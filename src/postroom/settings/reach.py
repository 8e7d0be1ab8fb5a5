"""A household on another machine, by POSTROOM_URL and POSTROOM_TOKEN: plain HTTP, quickly imported."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import quote, urlencode, urlsplit

import aiohttp
from opentelemetry.propagate import inject

from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.running.terminal import NotRunning, no_owner_token
from postroom.kernel.serving.mcp import REVISION
from postroom.kernel.values.errors import (
    DeliveryTimeout,
    InternalError,
    OutcomeUncertain,
    SettingsError,
    TargetUnavailable,
    UserError,
    ValidationError,
)
from postroom.kernel.values.fields import did_you_mean
from postroom.kernel.values.principal import OPERATOR

if TYPE_CHECKING:
    from http.client import HTTPResponse
    from urllib.request import Request

    from postroom.settings import Settings
    from postroom.settings.glance import SettingsGlance

_SECONDS = 30.0
_MOST_BYTES = 16 * 1024 * 1024
_PIECE_BYTES = 256 * 1024
_NEXT_STEP = {
    401: " Set POSTROOM_TOKEN to a token that counts there; `postroom token list` shows them.",
    403: " Another kind of token may: `postroom token create --help` lists them.",
    503: " `postroom doctor` on that machine looks closer.",
}


class ElsewhereError(UserError):
    """What the household there, or the way to it, had to say; `code` is its own."""

    def __init__(self, said: str, code: str = "refused") -> None:
        super().__init__(said)
        self.code = code


class NotReached(ElsewhereError):
    """There was no answer at all: it may be starting, or gone."""

    def __init__(self, said: str) -> None:
        super().__init__(said, "not_running")


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    url: str
    token: str

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        return self.look(path, _SECONDS, **query)

    def look(self, path: str, timeout_seconds: float, **query: Any) -> dict[str, Any]:
        """A `get` that may take its time."""
        given = urlencode({name: value for name, value in query.items() if value is not None})
        return self._checked(*self._call("GET", f"{path}?{given}" if given else path, None, timeout_seconds))

    def find(self, path: str) -> dict[str, Any] | None:
        """None when nothing of that name is there."""
        status, answer = self._call("GET", path, None, _SECONDS)
        return None if status == 404 else self._checked(status, answer)

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._checked(*self._call("POST", path, body, _SECONDS))

    def patch(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._checked(*self._call("PATCH", path, body, _SECONDS))

    def put(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._checked(*self._call("PUT", path, body, _SECONDS))

    def delete(self, path: str) -> dict[str, Any]:
        return self._checked(*self._call("DELETE", path, None, _SECONDS))

    def notify(self, body: dict[str, Any], timeout_seconds: float) -> dict[str, Any]:
        """The tool's own answer, also when it is an error."""
        status, answer = self._call("POST", "/v1/notify", body, timeout_seconds)
        return answer if "error_class" in answer else self._checked(status, answer)

    def correct(self, path: str, body: dict[str, Any], timeout_seconds: float, key: str | None) -> dict[str, Any]:
        """The tool's own answer, also when it is an error or too late."""
        status, answer = self._call("POST", path, body, timeout_seconds, {"Idempotency-Key": key} if key else {})
        return answer if "error_class" in answer or "revises" in answer else self._checked(status, answer)

    def upload(self, file: Path, timeout_seconds: float) -> dict[str, Any]:
        from postroom.settings.attach import form_of

        head, tail, form = form_of(file)

        def pieces() -> Iterator[bytes]:
            yield head
            with file.open("rb") as source:
                while piece := source.read(_PIECE_BYTES):
                    yield piece
            yield tail

        size = len(head) + file.stat().st_size + len(tail)
        headers = {"Content-Type": form, "Content-Length": str(size)}
        return self._checked(*self._sent("POST", "/v1/uploads", pieces(), headers, timeout_seconds))

    def _checked(self, status: int, answer: dict[str, Any]) -> dict[str, Any]:
        if 200 <= status < 300:
            return answer
        error = answer.get("error")
        told, code = (error.get("message"), error.get("code")) if isinstance(error, dict) else (error, None)
        said = f"{self.url} answered {status}: {told or 'without a reason'}.{_NEXT_STEP.get(status, '')}"
        raise ElsewhereError(said, code if isinstance(code, str) else "refused")

    def _call(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None,
        timeout_seconds: float,
        more: Mapping[str, str] | None = None,
    ) -> tuple[int, dict[str, Any]]:
        data = None if body is None else json.dumps(body).encode()
        return self._sent(method, path, data, {"Content-Type": "application/json", **(more or {})}, timeout_seconds)

    def _sent(
        self,
        method: str,
        path: str,
        data: bytes | Iterator[bytes] | None,
        more: dict[str, str],
        timeout_seconds: float,
    ) -> tuple[int, dict[str, Any]]:
        from http.client import HTTPException
        from urllib.error import HTTPError, URLError
        from urllib.request import Request

        headers = {"Authorization": f"Bearer {self.token}", **more}
        try:
            request = Request(self.url + path, data=data, headers=headers, method=method)  # noqa: S310  # checked below
            with _open(request, timeout_seconds) as response:
                return response.status, self._read(response.read(_MOST_BYTES))
        except HTTPError as error:
            return error.code, self._read(error.read(_MOST_BYTES))
        except TimeoutError:
            raise NotReached(
                f"{self.url} did not answer in time; it may still have done what was asked: look before you repeat it."
            ) from None
        except (URLError, OSError, HTTPException, ValueError) as error:
            reason = type(getattr(error, "reason", error)).__name__
            raise NotReached(
                f"{self.url} cannot be reached ({reason}): is the household running there? `postroom up` starts it."
            ) from None

    def _read(self, content: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise ElsewhereError(
                f"{self.url} does not answer as a household does; is that its API port? Set POSTROOM_URL to it."
            )
        return answer


def elsewhere(settings: Settings | SettingsGlance, *chosen_here: str | None) -> Elsewhere | None:
    """None while url and token are not both set, or when the command line names something of this machine."""
    if not settings.url or not settings.token or any(chosen_here):
        return None
    if not settings.url.startswith(("http://", "https://")):
        raise ElsewhereError("POSTROOM_URL must begin with http:// or https://.")
    return Elsewhere(url=settings.url.rstrip("/"), token=settings.token.reveal())


def path_of(kind: str, identifier: str, act: str = "") -> str:
    return f"/v1/{kind}/{quote(identifier, safe='')}" + (f"/{act}" if act else "")


def _open(request: Request, timeout_seconds: float) -> HTTPResponse:
    """A redirection is not followed: it would take the token along."""
    from urllib.request import HTTPRedirectHandler, build_opener

    class Stay(HTTPRedirectHandler):
        def redirect_request(self, *_: Any, **__: Any) -> None:
            return None

    answer: HTTPResponse = build_opener(Stay).open(request, timeout=timeout_seconds)
    return answer


# How a command reaches the running household: as its owner, over MCP.


def call(
    settings: Settings, part: str, tool: str, arguments: Mapping[str, Any], *, timeout_seconds: float = 30.0
) -> dict[str, Any]:
    return call_at(_url(settings, part), settings.tokens_file, part, tool, arguments, timeout_seconds)


def call_at(
    url: str, tokens_file: Path, part: str, tool: str, arguments: Mapping[str, Any], timeout_seconds: float
) -> dict[str, Any]:
    try:
        return call_once(part, url, operator_token(tokens_file), tool, arguments, timeout_seconds)
    except Unreachable:
        raise NotRunning(f"{part} does not answer at {url}") from None


def operator_token(tokens_file: Path) -> str:
    token = TokenFile(tokens_file).token_of(OPERATOR)
    if token is None:
        raise no_owner_token(tokens_file)
    return token


def _url(settings: Settings, butler: str) -> str:
    from postroom.settings.roster import Endpoints, load_roster

    roster = load_roster(settings, os.environ)
    url = Endpoints(settings, roster).url(butler)
    if url is None:
        names = [config.name for config in roster]
        raise SettingsError(f"There is no butler '{butler}'{did_you_mean(butler, names)} Butlers: {', '.join(names)}.")
    return url


# How programs on this machine reach their household: `connections.json`, which only its owner can read.


NAME = "connections.json"


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
        one = json.loads((home / NAME).read_text(encoding="utf-8"))["programs"][program]
        return Connection(url=str(one["url"]), token=str(one["token"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read_all(home: Path) -> dict[str, Any]:
    try:
        document = json.loads((home / NAME).read_text(encoding="utf-8"))
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
        replace_file(home / NAME, written, 0o600)


def replace_file(path: Path, content: bytes, mode: int) -> None:
    """All of it or nothing, with this mode from the first byte on."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.chmod(mode)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


# Calls to the household with what Python brings along, for programs that must start at once.


_SMALL_HTTP_MOST_BYTES: Final = 4 * 1024 * 1024


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
            document = json.loads(response.read(_SMALL_HTTP_MOST_BYTES))
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


# A part in another process: MCP over streamable HTTP, one self-contained POST per call.


_IDLE_SECONDS: Final = 2.0  # less than a server keeps a connection, so that none is closed under a call


class HttpPeer:
    """
    Speaks the stateless revision of the protocol itself: the SDK's client cancels
    its surroundings when a connection fails, and here a failure is an answer.
    """

    def __init__(self, name: str, url: str, token: str) -> None:
        self.name = name
        self.url = url
        self._headers = headers(token)
        self._session: aiohttp.ClientSession | None = None
        self._ids = itertools.count(1)

    async def connect(self) -> None:
        """Connections are made when needed."""

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        timeout_seconds: float,
        *,
        meta: Mapping[str, Any] | None = None,
        token: str | None = None,
    ) -> dict[str, Any]:
        """`meta` travels beside the arguments, where no model sees it; `token` speaks for somebody else for once."""
        try:
            status, answer = await self._post(tool, arguments, timeout_seconds, meta or {}, token)
        except (aiohttp.ConnectionTimeoutError, aiohttp.ClientConnectorError):
            raise Unreachable(f"{self.name} cannot be reached") from None
        except TimeoutError:
            raise DeliveryTimeout(f"{self.name} did not answer in time") from None
        except (aiohttp.ClientError, ValueError) as error:  # it may have done what we asked
            raise OutcomeUncertain(f"{self.name} broke off ({type(error).__name__})") from None
        return read(self.name, tool, status, answer)

    async def _post(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        timeout_seconds: float,
        extra: Mapping[str, Any],
        token: str | None,
    ) -> tuple[int, Any]:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS)
            self._session = aiohttp.ClientSession(headers=self._headers, connector=connector)
        timeout = aiohttp.ClientTimeout(total=timeout_seconds, sock_connect=CONNECT_SECONDS)
        meta = dict(extra)
        inject(meta)
        body = request(next(self._ids), tool, arguments, meta)
        more = {"Mcp-Name": tool} | ({"Authorization": f"Bearer {token}"} if token else {})
        async with self._session.post(self.url, json=body, headers=more, timeout=timeout) as response:
            return response.status, await response.json()


# A part called once from a program that only waits for the answer: no event loop, quickly imported.


_SINGLE_CALL_MOST_BYTES: Final = 64 * 1024 * 1024


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
        answer = json.loads(response.read(_SINGLE_CALL_MOST_BYTES))
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


# One call of a tool over MCP's stateless revision: what is sent, and what an answer means.


CONNECT_SECONDS: Final = 3.0

_META: Final = "io.modelcontextprotocol/"


class Unreachable(TargetUnavailable):
    """Nothing listens there."""


def headers(token: str) -> dict[str, str]:
    """The same for every tool; `Mcp-Name` says which one."""
    return {
        "Authorization": f"Bearer {token}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": REVISION,
        "Mcp-Method": "tools/call",
    }


def request(number: int, tool: str, arguments: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    meta: dict[str, Any] = {
        **extra,
        f"{_META}protocolVersion": REVISION,
        f"{_META}clientInfo": {"name": "postroom", "version": "1"},
        f"{_META}clientCapabilities": {},
    }
    params = {"name": tool, "arguments": dict(arguments), "_meta": meta}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def read(name: str, tool: str, status: int, answer: Any) -> dict[str, Any]:
    """The tool's structured answer; every other answer is an error that names the part."""
    if status in (401, 403):
        raise TargetUnavailable(f"{name} does not accept our token")
    if not isinstance(answer, dict):
        raise InternalError(f"{name} answered with no object")
    if error := answer.get("error"):
        text = error.get("message", "") if isinstance(error, dict) else error
        raise ValidationError(f"{name} refused: {text}")
    result = answer.get("result")
    content = result.get("structuredContent") if isinstance(result, dict) else None
    if not isinstance(result, dict) or result.get("isError") or not isinstance(content, dict):
        raise InternalError(f"{name} failed in {tool}")
    return content


# Another part of the household, called over MCP.


class Peer(Protocol):
    """Another part of the household, reached over MCP."""

    async def call(self, tool: str, arguments: Mapping[str, Any], timeout_seconds: float) -> dict[str, Any]: ...
