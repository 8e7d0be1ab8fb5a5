"""Questions to people from an agent's own process: asked once under a key, waited for, found again after a crash."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Protocol, TypeVar, cast

from postroom.inbox.model import CONVERSATION_META, CORRELATION_META, USER_META, NewNotification
from postroom.inbox.rules import Sent, failed
from postroom.kernel.acts.declaration import Act, Answer
from postroom.kernel.acts.reading import made, read
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.errors import PostroomError, SettingsError, UserError
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.message.wire import wish_object
from postroom.message.wishes import APPROVE
from postroom.questions.acts import AskPeople, ListAsks, WaitForAsk
from postroom.questions.model import QuestionKind
from postroom.questions.shapes import AskBody
from postroom.settings.glance import glance_from_process
from postroom.settings.load import from_process
from postroom.settings.peer import HttpPeer
from postroom.settings.reach import HouseholdClient

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


class AskRefused(UserError):
    """The household did not take the question; its own words say why."""


class Unanswered(Exception):
    """No person has answered: the run stays paused, and `drive` called again goes on with the same question."""

    def __init__(self, ask: AskBody) -> None:
        self.ask = ask
        self.status: str = ask.status
        super().__init__(f"the question {ask.ask_id} is {ask.status}: {ask.next}")


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseholdAsks:
    """
    A household's questions, in the name of the token.

    `more` goes with every question, as the arguments of `ask`: recipient, channels, deadline_seconds and the like.
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
        here = None if settings.url else TokenFile(settings.tokens_file).token_of(OPERATOR)
        token = settings.token.reveal() or here
        if token is None:
            raise UserError(_NO_HOUSEHOLD)
        return cls(url=settings.url or settings.own_api_url, token=token, wait_seconds=wait_seconds, more=more)

    async def answer(self, key: str, question: AskPeople) -> Any:
        """What the person said: the value of an option, values, fields, or their words."""
        ask = await self.ended(key, question)
        if ask.status != "answered" or (said := ask.answer) is None:
            raise Unanswered(ask)
        return said.fields or said.selected or said.value or said.text

    async def approval(self, key: str, question: AskPeople) -> str | None:
        """None when a person lets it happen; else what to tell the model. Silence is neither."""
        ask = await self.ended(key, question)
        if ask.status == "declined":
            return "The person would rather not decide this; it was not run."
        if ask.status != "answered" or ask.answer is None:
            raise Unanswered(ask)
        return None if ask.answer.value == APPROVE else "The person said no; it was not run."

    async def under(self, key: str) -> AskBody | None:
        """What was asked under this key before, by whichever process."""
        return next(iter((await self._done(made(ListAsks, idempotency_key=key))).asks), None)

    async def opened(self, key: str, question: AskPeople) -> AskBody:
        """What the question says itself comes before what goes with all of them."""
        more = {AskPeople.renamed.get(name, name): value for name, value in self.more.items()}
        said = question.model_dump(mode="json", exclude_unset=True)
        return await self._done(to_ask({**more, **said, "idempotency_key": key}))

    async def ended(self, key: str, question: AskPeople) -> AskBody:
        """Asked once, however often; then waited for."""
        ask = await self.opened(key, question)
        left = self.wait_seconds
        while ask.status == "open" and (left is None or left > 0):
            wait = _LOOK_SECONDS if left is None else min(_LOOK_SECONDS, left)
            ask = await self._done(made(WaitForAsk, ask_id=ask.ask_id, wait_seconds=wait))
            left = None if left is None else left - wait
        return ask

    async def _done(self, one: Act[Answer]) -> Answer:
        """A household may be away for a moment; every call here may be made again."""
        client, left = HouseholdClient(self.url), _TRIES
        try:
            while True:
                left -= 1
                try:
                    return await client.ask(one, self.token)
                except PostroomError as error:
                    if error.code.status < 500 or not left:
                        raise AskRefused(error.message) from None
                await asyncio.sleep(_PAUSE_SECONDS)
        finally:
            await client.close()


def to_ask(given: Mapping[str, Any]) -> AskPeople:
    """The question of these arguments of `ask`. Raises AskRefused."""
    try:
        return read(AskPeople, given)[0]
    except PostroomError as error:
        raise AskRefused(error.message) from None


def to_approve(tool: str, arguments: Any) -> AskPeople:
    """The question about a tool call; what is too long to be shown whole is refused, never cut."""
    return to_ask({"question": f"Run {tool}?", "kind": "approve", "context": _legible(arguments)})


def to_answer(tool: str, arguments: Any) -> AskPeople:
    """The question whose answer is the tool's result: what the tool was given to ask, or the call itself."""
    if isinstance(arguments, Mapping) and isinstance(arguments.get("question"), str):
        return to_ask(arguments)
    return to_ask({"question": f"What does {tool} answer?", "context": _legible(arguments)})


def _legible(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, indent=2, default=str)


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
    questions: Callable[[str], Awaitable[Sequence[AskPeople]]]  # about what was saved, always in one order
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
        number, saved = number + 1, _unpacked(ask.state)
    return max(number - 1, 0), saved


async def _answers(asks: HouseholdAsks, saved: str, questions: Sequence[tuple[str, AskPeople]]) -> list[Any]:
    """The first is stored before the others are asked: without it no process would know of them."""
    key, first = questions[0]
    await asks.opened(key, first.model_copy(update={"state": _packed(saved)}))
    return list(await asyncio.gather(*(_answered(asks, *one) for one in questions)))


async def _answered(asks: HouseholdAsks, key: str, question: AskPeople) -> Any:
    if question.kind is QuestionKind.APPROVE:
        return await asks.approval(key, question)
    return await asks.answer(key, question)


def _packed(text: str) -> str:
    return base64.b64encode(zlib.compress(text.encode())).decode()


def _unpacked(text: str) -> str:
    return zlib.decompress(base64.b64decode(text)).decode()
