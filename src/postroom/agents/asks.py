"""Questions to people from an agent's own process: asked once under a key, waited for, found again after a crash."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeVar, cast

import aiohttp

from postroom.inbox.model import CONVERSATION_META, CORRELATION_META, USER_META, NewNotification
from postroom.inbox.rules import Sent, failed
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.errors import PostroomError, SettingsError, UserError
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.message.wire import wish_object
from postroom.settings.glance import glance_from_process
from postroom.settings.load import from_process
from postroom.settings.peer import HttpPeer

# How an agent in any process reaches a household: in memory when it has one at hand, else over MCP.

TIMEOUT_SECONDS: Final = 30.0


class Household(Protocol):
    """Whatever takes notifications: the inbox in this process, or a way to one elsewhere."""

    async def send(self, asked: NewNotification) -> Sent: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteHousehold:
    """A household's API port. A person's token writes to that person; the operator's to anybody."""

    url: str
    token: str = field(repr=False)

    async def send(self, asked: NewNotification) -> Sent:
        arguments = {"message": asked.message, "type": str(asked.type), **wish_object(asked.wish)}
        peer = HttpPeer("the household", f"{self.url.rstrip('/')}/mcp", self.token)
        try:
            return _answer(await peer.call("send_notification", arguments, TIMEOUT_SECONDS, meta=_meta(asked)))
        except PostroomError:
            return failed("the household cannot be reached or does not accept the token")
        finally:
            await peer.close()


class LocalHousehold:
    """The one the settings name, or the one on this machine; looked for at each call, so that it may come and go."""

    async def send(self, asked: NewNotification) -> Sent:
        try:
            settings, _ = from_process()
        except SettingsError:
            return failed("the settings cannot be read")
        token = settings.token.reveal() or _token_of(TokenFile(settings.tokens_file), asked.user_id)
        if token is None:
            return failed(_NO_HOUSEHOLD)
        return await RemoteHousehold(url=settings.api_url, token=token).send(asked)


def _token_of(tokens: TokenFile, user_id: str) -> str | None:
    """The person's own where there is one; whoever can read the operator's may write to anybody anyway."""
    try:
        own = (tokens.token_of(Principal(role, user_id)) for role in (Role.USER, Role.PERSON))
        return next(filter(None, own), None) or tokens.token_of(OPERATOR)
    except (OSError, ValueError, SettingsError):
        return None


def _meta(asked: NewNotification) -> dict[str, Any]:
    meta = {
        USER_META: asked.user_id,
        CONVERSATION_META: asked.conversation_id,
        CORRELATION_META: asked.correlation_id,
    }
    return {name: value for name, value in meta.items() if value is not None}


def _answer(content: Mapping[str, Any]) -> Sent:
    if {"success", "action", "message"} <= content.keys():
        return cast(Sent, dict(content))
    return failed("the household gave no answer")


# Questions.

_NO_HOUSEHOLD: Final = "no household was found; start one with `postroom up`, or set POSTROOM_URL and POSTROOM_TOKEN"
_LOOK_SECONDS: Final = 25  # less than what proxies cut
_TRIES: Final = 60
_PAUSE_SECONDS: Final = 1.0
Ask = dict[str, Any]  # as `GET /v1/asks/{id}` shows it


class AskRefused(UserError):
    """The household did not take the question; its own words say why."""


class Unanswered(Exception):
    """No person has answered: the run stays paused, and `drive` called again goes on with the same question."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.status: str = ask["status"]
        super().__init__(f"the question {ask['ask_id']} is {self.status}: {ask['next']}")


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseholdAsks:
    """
    A household's questions, in the name of the token.

    `more` goes with every question, as the arguments of `ask`: to, channels, urgency, deadline_seconds and the like.
    After `wait_seconds` an open question raises Unanswered; None waits until it ends.
    """

    url: str
    token: str = field(repr=False)
    wait_seconds: float | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def here(cls, *, wait_seconds: float | None = None, **more: Any) -> HouseholdAsks:
        """Of the household the settings name, or the one on this machine."""
        settings = glance_from_process({})
        token = settings.token.reveal() or (_token_here(settings.tokens_file) if not settings.url else None)
        if token is None:
            raise UserError(_NO_HOUSEHOLD)
        return cls(url=settings.url or settings.own_api_url, token=token, wait_seconds=wait_seconds, more=more)

    async def answer(self, key: str, body: Mapping[str, Any]) -> Any:
        """What the person said: the value of an option, values, fields, or their words."""
        ask = await self.ended(key, body)
        if ask["status"] != "answered":
            raise Unanswered(ask)
        said = ask["answer"]
        return said["fields"] or said["selected"] or said["value"] or said["text"]

    async def approval(self, key: str, body: Mapping[str, Any]) -> str | None:
        """None when a person lets it happen; else what to tell the model. Silence is neither."""
        ask = await self.ended(key, body)
        if ask["status"] == "declined":
            return "The person would rather not decide this; it was not run."
        if ask["status"] != "answered":
            raise Unanswered(ask)
        return None if ask["answer"]["value"] == "approve" else "The person said no; it was not run."

    async def under(self, key: str) -> Ask | None:
        """What was asked under this key before, by whichever process."""
        page = await self._call("GET", "/v1/asks", params={"idempotency_key": key})
        return next(iter(page["asks"]), None)

    async def opened(self, key: str, body: Mapping[str, Any]) -> Ask:
        ask: Ask = await self._call("POST", "/v1/asks", body={**self.more, **body, "idempotency_key": key})
        return ask

    async def ended(self, key: str, body: Mapping[str, Any]) -> Ask:
        """Asked once, however often; then waited for."""
        ask = await self.opened(key, body)
        left = self.wait_seconds
        while ask["status"] == "open" and (left is None or left > 0):
            wait = _LOOK_SECONDS if left is None else min(_LOOK_SECONDS, left)
            ask = await self._call("GET", f"/v1/asks/{ask['ask_id']}", params={"wait": str(wait)})
            left = None if left is None else left - wait
        return ask

    async def _call(self, method: str, path: str, *, body: Any = None, params: Mapping[str, str] | None = None) -> Any:
        """A household may be away for a moment; every call here may be made again."""
        for left in reversed(range(_TRIES)):
            try:
                status, answer = await self._once(method, path, body, params)
            except (aiohttp.ClientError, TimeoutError) as error:
                status, answer = 503, {"error": {"message": f"the household cannot be reached: {error}"}}
            if status < 500 or not left:
                break
            await asyncio.sleep(_PAUSE_SECONDS)
        if status >= 400:
            raise AskRefused(str(answer.get("error", {}).get("message") or f"the household answered {status}"))
        return answer

    async def _once(self, method: str, path: str, body: Any, params: Mapping[str, str] | None) -> tuple[int, Any]:
        limit = aiohttp.ClientTimeout(total=_LOOK_SECONDS + 15)
        headers = {"Authorization": f"Bearer {self.token}"}
        async with (
            aiohttp.ClientSession(timeout=limit, headers=headers) as session,
            session.request(method, self.url.rstrip("/") + path, json=body, params=params) as response,
        ):
            return response.status, await response.json(content_type=None)


def to_approve(tool: str, arguments: Any) -> dict[str, Any]:
    """The question about a tool call; what is too long to be shown whole is refused, never cut."""
    return {"question": f"Run {tool}?", "kind": "approve", "context": _legible(arguments)}


def to_answer(tool: str, arguments: Any) -> dict[str, Any]:
    """The question whose answer is the tool's result: what the tool was given to ask, or the call itself."""
    if isinstance(arguments, Mapping) and isinstance(arguments.get("question"), str):
        return dict(arguments)
    return {"question": f"What does {tool} answer?", "context": _legible(arguments)}


def _legible(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, indent=2, default=str)


def _token_here(tokens_file: Path) -> str | None:
    from postroom.kernel.guard.tokens import TokenFile

    return TokenFile(tokens_file).token_of(OPERATOR)


def key_of(framework: str, *parts: str | int) -> str:
    """The same for the same pause of the same run, in whatever process."""
    return f"{framework}:{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:40]}"


# Runs that nobody keeps: their state travels with the first question of each pause, and is found there again.

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class PausingRun(Generic[Result]):
    """How a framework starts, what it leaves behind when it pauses, what it then asks, and how it goes on."""

    start: Callable[[], Awaitable[Result]]
    saved: Callable[[Result], str | None]  # None once it is over
    questions: Callable[[str], Awaitable[Sequence[Mapping[str, Any]]]]  # about what was saved, always in one order
    resume: Callable[[str, Sequence[Any]], Awaitable[Result]]  # with the answers in that order


async def drive_run(run: PausingRun[Result], asks: HouseholdAsks, *name: str) -> Result:
    """A run that a process left behind goes on at its last pause; what it did before that is not done again."""
    number, saved = await _last(asks, name)
    if saved is None:
        result = await run.start()
        saved = run.saved(result)
    while saved is not None:
        questions = [(key_of(*name, number, place), one) for place, one in enumerate(await run.questions(saved))]
        result = await run.resume(saved, await _answers(asks, saved, questions))
        number, saved = number + 1, run.saved(result)
    return result


async def _last(asks: HouseholdAsks, name: tuple[str, ...]) -> tuple[int, str | None]:
    number, saved = 0, None
    while (ask := await asks.under(key_of(*name, number, 0))) is not None:
        number, saved = number + 1, _unpacked(ask["state"])
    return max(number - 1, 0), saved


async def _answers(asks: HouseholdAsks, saved: str, questions: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Any]:
    """The first is stored before the others are asked: without it no process would know of them."""
    key, first = questions[0]
    await asks.opened(key, {**first, "state": _packed(saved)})
    return list(await asyncio.gather(*(_answered(asks, *one) for one in questions)))


async def _answered(asks: HouseholdAsks, key: str, question: Mapping[str, Any]) -> Any:
    if question.get("kind") == "approve":
        return await asks.approval(key, question)
    return await asks.answer(key, question)


def _packed(text: str) -> str:
    return base64.b64encode(zlib.compress(text.encode())).decode()


def _unpacked(text: str) -> str:
    return zlib.decompress(base64.b64decode(text)).decode()
