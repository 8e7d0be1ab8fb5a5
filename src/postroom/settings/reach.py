"""How a command reaches a household: one elsewhere over its API, the one on this machine as its owner over MCP."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote, urlencode

from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.serving import REVISION
from postroom.kernel.values.errors import (
    Code,
    DeliveryTimeout,
    FieldError,
    InternalError,
    OutcomeUncertain,
    PostroomError,
    Refused,
    SettingsError,
    TargetUnavailable,
    UserError,
    ValidationError,
)
from postroom.kernel.values.fields import did_you_mean
from postroom.kernel.values.principal import OPERATOR
from postroom.settings.connections import link_to

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

    from postroom.kernel.acts.declaration import Act, Answer
    from postroom.settings import Settings
    from postroom.settings.glance import SettingsGlance

# Nothing here imports a library for HTTP or MCP: a command has 0.35 s, and makes one call.


# -- An act as a request, and the answer as what the act declares ---


class ActRequest(NamedTuple):
    method: str
    target: str
    body: dict[str, Any] | None
    headers: dict[str, str]


def _request_of(one: Act[Any], key: str | None = None) -> ActRequest:
    """Only what was said goes: what was left out is for the household to choose. A key goes as its route takes it."""
    route = type(one).declared.route
    if route is None:
        raise LookupError(f"{type(one).__name__} has no route")
    sent = _said(one)
    if "idempotency_key" in route.without:
        key = sent.pop("idempotency_key", key)
    path, query = route.path, dict[str, Any]()
    for name in [*sent, *(missing for missing in route.absent if missing not in sent)]:
        if route.is_in_path(name):
            path = path.replace(f"{{{name}}}", quote(str(sent.pop(name, None) or route.absent[name]), safe=""))
        elif route.is_in_query(name):
            query[name] = _text(sent.pop(name))
    target = f"{path}?{urlencode(query, doseq=True)}" if query else path
    body = None if route.method in ("GET", "DELETE") else sent
    return ActRequest(route.method, target, body, {"Idempotency-Key": key} if key else {})


def _tool_call_of(one: Act[Any]) -> tuple[str, dict[str, Any]]:
    tool = type(one).declared.tool
    if tool is None:
        raise LookupError(f"{type(one).__name__} has no tool")
    return tool.name, _said(one)


def _said(one: Act[Any]) -> dict[str, Any]:
    return one.model_dump(mode="json", by_alias=True, exclude_unset=True)


def _text(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def _answer_from(one: Act[Answer], answer: Any) -> Answer:
    from postroom.kernel.acts.reading import answer_of

    found: Answer = answer_of(type(one)).validate_json(json.dumps(answer))
    return found


# -- A household elsewhere, by POSTROOM_URL and POSTROOM_TOKEN ---

_SECONDS = 30.0
_MOST_BYTES = 16 * 1024 * 1024
_PIECE_BYTES = 256 * 1024
_NEXT_STEP = {
    401: " Set POSTROOM_TOKEN to a token that counts there; `postroom token list` shows them.",
    403: " Another kind of token may: `postroom token create --help` lists them.",
    503: " `postroom doctor` on that machine looks closer.",
}
_CODES = {401: Code.AUTH_FAILED, 403: Code.POLICY_DENIED}  # of a refusal that names none


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

    def ask(self, one: Act[Answer], timeout_seconds: float = _SECONDS) -> Answer:
        """Does an act there. Raises ElsewhereError where the act itself has no answer that says what is wrong."""
        asked = _request_of(one)
        headers = {"Content-Type": "application/json", **asked.headers}
        data = None if asked.body is None else json.dumps(asked.body).encode()
        status, answer = self._sent(asked.method, asked.target, data, headers, timeout_seconds)
        if not one.is_answer(status, answer):
            raise self._refused(status, answer)
        try:
            return _answer_from(one, answer)
        except ValueError:
            raise self._another() from None

    def upload(self, file: Path, timeout_seconds: float) -> dict[str, Any]:
        head, tail, form = form_of(file)

        def pieces() -> Iterator[bytes]:
            yield head
            with file.open("rb") as source:
                while piece := source.read(_PIECE_BYTES):
                    yield piece
            yield tail

        size = len(head) + file.stat().st_size + len(tail)
        headers = {"Content-Type": form, "Content-Length": str(size)}
        status, answer = self._sent("POST", "/v1/uploads", pieces(), headers, timeout_seconds)
        if not 200 <= status < 300:
            raise self._refused(status, answer)
        return answer

    def _refused(self, status: int, answer: dict[str, Any]) -> ElsewhereError:
        error = answer.get("error")
        told, code = (error.get("message"), error.get("code")) if isinstance(error, dict) else (error, None)
        reason = str(told or "without a reason")
        end = "" if reason.endswith((".", "?")) else "."
        said = f"{self.url} answered {status}: {reason}{end}{_NEXT_STEP.get(status, '')}"
        return ElsewhereError(said, code if isinstance(code, str) else _CODES.get(status, "refused"))

    def _sent(
        self,
        method: str,
        path: str,
        data: bytes | Iterator[bytes] | None,
        more: dict[str, str],
        timeout_seconds: float,
    ) -> tuple[int, dict[str, Any]]:
        headers = {"Authorization": f"Bearer {self.token}", **more}
        try:
            link, there = link_to(self.url, timeout_seconds)
            link.connect()
        except (OSError, HTTPException, ValueError) as error:
            raise self._away(error) from None
        try:
            with closing(link):
                link.request(method, there.path + path, body=data, headers=headers)
                response = link.getresponse()
                return response.status, self._read(response.read(_MOST_BYTES))
        except TimeoutError:
            raise NotReached(
                f"{self.url} did not answer in time; it may still have done what was asked: look before you repeat it."
            ) from None
        except (OSError, HTTPException, ValueError) as error:
            raise self._away(error) from None

    def _away(self, error: Exception) -> NotReached:
        reason = type(error).__name__
        return NotReached(
            f"{self.url} cannot be reached ({reason}): is the household running? `postroom up` starts it."
        )

    def _read(self, content: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise self._another()
        return answer

    def _another(self) -> ElsewhereError:
        return ElsewhereError(
            f"{self.url} does not answer as a household does; is that its API port? Set POSTROOM_URL to it."
        )


# -- The same for a program that waits for other things meanwhile ---

_CONNECT_SECONDS: Final = 3.0
_STREAM_SECONDS: Final = 45.0  # a stream gives a sign of life every 15


class NoAnswer(TargetUnavailable):
    """No household's answer came; `has_left` where it may have done what it was asked all the same."""

    def __init__(self, said: str, *, has_left: bool) -> None:
        super().__init__(said)
        self.has_left = has_left


class HouseholdClient:
    """A household in another process: connections that are shared by all in whose name it is asked."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self._session: ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def ask(self, one: Act[Answer], token: str, key: str | None = None) -> Answer:
        """Raises Refused with the household's own words and code, and NoAnswer."""
        asked = _request_of(one, key)
        async with self._opened(asked.method, asked.target, asked.body, token, asked.headers) as response:
            status, answer = response.status, await _document(response)
        if isinstance(answer, dict) and one.is_answer(status, answer):
            try:
                return _answer_from(one, answer)
            except ValueError:
                raise NoAnswer(_NOT_READ, has_left=True) from None
        raise _refusal(status, answer)

    @asynccontextmanager
    async def following(self, target: str, token: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """A stream of events, in pieces as they come and until it ends. Raises as `ask` does."""
        async with self._opened("GET", target, None, token, {}, _STREAM_SECONDS) as response:
            if response.status != 200:
                raise _refusal(response.status, await _document(response))
            yield response.content.iter_any()

    @asynccontextmanager
    async def _opened(
        self,
        method: str,
        target: str,
        body: Any,
        token: str,
        more: Mapping[str, str],
        silence_seconds: float | None = None,
    ) -> AsyncIterator[ClientResponse]:
        """
        A redirection is not followed: it would take the token along.

        `silence_seconds` is for what has no end: it lasts until nothing came for so long.
        """
        import aiohttp

        self._session = self._session or aiohttp.ClientSession()
        total = _SECONDS if silence_seconds is None else None
        limits = aiohttp.ClientTimeout(total=total, sock_connect=_CONNECT_SECONDS, sock_read=silence_seconds)
        headers = {"Authorization": f"Bearer {token}", **more}
        try:
            async with self._session.request(
                method, self._url + target, json=body, headers=headers, timeout=limits, allow_redirects=False
            ) as response:
                yield response
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
            raise NoAnswer("the household cannot be reached", has_left=False) from None
        except (aiohttp.ClientError, OSError):
            raise NoAnswer(_NOT_READ, has_left=True) from None


async def _document(response: ClientResponse) -> Any:
    try:
        return await response.json()
    except ValueError:
        raise NoAnswer(_NOT_READ, has_left=True) from None


_NOT_READ: Final = "the household's answer could not be read"


def _refusal(status: int, answer: Any) -> PostroomError:
    error = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(error, dict):
        if (code := _CODES.get(status)) is None:
            return NoAnswer(_NOT_READ, has_left=True)
        return Refused(code, "the household refused the token")
    try:
        code = Code(str(error.get("code")))
    except ValueError:  # one of a newer household's, or of one act alone
        code = Code.UPSTREAM_UNAVAILABLE if status >= 500 or status in (408, 429) else Code.VALIDATION_ERROR
    fields = [
        FieldError(str(item.get("field")), str(item.get("error")), str(item.get("code")))
        for item in error.get("fields", [])
        if isinstance(item, dict)
    ]
    return Refused(code, str(error.get("message", "")), fields=fields)


# -- Which household is meant ---


def elsewhere(settings: Settings | SettingsGlance, *chosen_here: str | None) -> Elsewhere | None:
    """None while url and token are not both set, or when the command line names something of this machine."""
    if not settings.url or not settings.token or any(chosen_here):
        return None
    if not settings.url.startswith(("http://", "https://")):
        raise ElsewhereError("POSTROOM_URL must begin with http:// or https://.")
    return Elsewhere(url=settings.url.rstrip("/"), token=settings.token.reveal())


def running_here(settings: SettingsGlance, *chosen_here: str | None) -> Elsewhere:
    """The household elsewhere, or the one that runs on this machine, asked over its API as its owner."""
    if (there := elsewhere(settings, *chosen_here)) is not None:
        return there
    return Elsewhere(url=settings.own_api_url, token=operator_token(settings.tokens_file))


def performing(settings: Settings, opener: str, *chosen_here: str | None) -> Callable[[Act[Any]], Any]:
    """
    How an act is done: by the household elsewhere, or here on its database as the operator.

    `opener` names what opens its work here, as `module:function`: a context of the settings.
    """
    if (there := elsewhere(settings, *chosen_here)) is not None:
        return there.ask

    def perform(one: Act[Any]) -> Any:
        import asyncio
        from importlib import import_module

        from postroom.kernel.acts.declaration import Call

        module, _, name = opener.partition(":")

        async def work() -> Any:
            async with getattr(import_module(module), name)(settings) as opened:
                call: Call[Any] = Call(work=opened, caller=OPERATOR, door="command")
                return await one.do(call)

        return asyncio.run(work())

    return perform


# -- A part that runs here ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A butler on this machine, asked by its own tools as its owner."""

    name: str
    url: str
    tokens_file: Path

    def ask(self, one: Act[Answer], timeout_seconds: float = _SECONDS) -> Answer:
        tool, arguments = _tool_call_of(one)
        try:
            answer = call_once(self.name, self.url, operator_token(self.tokens_file), tool, arguments, timeout_seconds)
        except Unreachable:
            from postroom.kernel.running.terminal import NotRunning  # a household does without what writes to terminals

            raise NotRunning(f"{self.name} does not answer at {self.url}") from None
        return _answer_from(one, answer)


def part_here(settings: Settings, butler: str) -> Part:
    from postroom.settings.roster import Endpoints, load_roster

    roster = load_roster(settings, os.environ)
    url = Endpoints(settings, roster).url(butler)
    if url is None:
        names = [config.name for config in roster]
        raise SettingsError(f"There is no butler '{butler}'{did_you_mean(butler, names)} Butlers: {', '.join(names)}.")
    return Part(name=butler, url=url, tokens_file=settings.tokens_file)


def operator_token(tokens_file: Path) -> str:
    token = TokenFile(tokens_file).token_of(OPERATOR)
    if token is None:
        from postroom.kernel.running.terminal import NotRunning

        raise NotRunning(f"{tokens_file} holds no token of the owner")
    return token


# -- One call of a tool over MCP's stateless revision: what is sent, and what an answer means ---


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


_MOST_ANSWER_BYTES: Final = 64 * 1024 * 1024


def call_once(
    name: str, url: str, token: str, tool: str, arguments: Mapping[str, Any], timeout_seconds: float
) -> dict[str, Any]:
    """Fails with the same errors as an HttpPeer."""
    body = json.dumps(request(1, tool, arguments, {})).encode()
    sent = {**headers(token), "Mcp-Name": tool, "Content-Type": "application/json"}
    try:
        connection, there = link_to(url, CONNECT_SECONDS)
        connection.connect()
    except (OSError, ValueError, HTTPException):
        raise Unreachable(f"{name} cannot be reached") from None
    try:
        connection.sock.settimeout(timeout_seconds)
        connection.request("POST", there._replace(scheme="", netloc="").geturl() or "/", body=body, headers=sent)
        response = connection.getresponse()
        answer = json.loads(response.read(_MOST_ANSWER_BYTES))
    except TimeoutError:
        raise DeliveryTimeout(f"{name} did not answer in time") from None
    except (OSError, HTTPException, ValueError) as error:  # it may have done what we asked
        raise OutcomeUncertain(f"{name} broke off ({type(error).__name__})") from None
    finally:
        connection.close()
    return read(name, tool, response.status, answer)


# Files named on the command line: handed in first, by whatever way leads to the household.


_UPLOAD_SECONDS = 600.0


class CannotAttach(UserError):
    """Why a file does not go with the message."""


def upload_there(there: Elsewhere, files: Sequence[Path]) -> list[dict[str, str]]:
    return [{"upload_id": there.upload(_readable(file), _UPLOAD_SECONDS)["upload_id"]} for file in files]


def take_here(settings: Settings, files: Sequence[Path], butler: str) -> list[dict[str, str]]:
    """Into the household's own store: whoever may read its tokens may write there, too."""
    import asyncio

    found = [_readable(file) for file in files]
    try:
        return asyncio.run(_taken(settings, found, butler))
    except PostroomError as error:
        raise CannotAttach(f"--attach: {error.message}.") from None


async def _taken(settings: Settings, files: Sequence[Path], butler: str) -> list[dict[str, str]]:
    from postroom.household.store import file_taking, open_store
    from postroom.kernel.running.clock import SystemClock

    given: list[dict[str, str]] = []
    async with open_store(settings) as store:
        taking = file_taking(settings, store, (), SystemClock())
        for file in files:
            with file.open("rb") as source:
                upload = await taking.take_one(source, name=file.name, media_type=None, owner=butler)
            given.append({"upload_id": upload.id})
    return given


def form_of(file: Path) -> tuple[bytes, bytes, str]:
    """What stands before and after the file in a form, and the form's type."""
    import secrets

    mark = f"postroom-{secrets.token_hex(16)}"
    name = file.name.replace("\\", "_").replace('"', "_").replace("\r", "_").replace("\n", "_")
    head = (
        f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    )
    return head.encode(), f"\r\n--{mark}--\r\n".encode(), f"multipart/form-data; boundary={mark}"


def _readable(file: Path) -> Path:
    try:
        with file.open("rb"):
            return file
    except OSError as error:
        raise CannotAttach(f"--attach {file}: {error.strerror}; name a file that you may read.") from None
