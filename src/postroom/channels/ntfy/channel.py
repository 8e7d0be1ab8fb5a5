"""An ntfy server: publish a message once, ask what arrived, hear which button was pressed."""

from __future__ import annotations

import asyncio
import hmac
import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

import aiohttp

from postroom.channels.ntfy.building import (
    BODY_BYTES,
    TOPIC,
    NtfyCall,
    address,
    build,
    events,
    file_headers,
    read_pressed,
    read_receipt,
    read_refusal,
    with_file,
)
from postroom.channels.ntfy.kind import NTFY, NtfyAccount
from postroom.channels.provider import ProviderApi, blameless
from postroom.channels.shared import check_files, read_file
from postroom.kernel.http.answers import JsonObject, as_object
from postroom.kernel.http.call import MOST_BYTES, HttpAnswer, whole_answer
from postroom.kernel.values.errors import TargetUnavailable, ValidationError
from postroom.kernel.values.ids import SECOND_US
from postroom.message.attachment import FileContents
from postroom.message.channel import Capabilities
from postroom.message.delivery import Message, Receipt, ReceiptKind
from postroom.message.inbound import Assurance, Listened, Press
from postroom.settings.accounts import Surroundings

# What a server still keeps of a topic, asked for one message of ours; pure.

_CLOCKS_DIFFER_SECONDS: Final = 300
_USUAL_SECONDS: Final = 43_200  # how long a server keeps messages unless it is set up otherwise
_TOO_OLD: Final = "this ntfy server keeps no sequence ids and cannot be asked what arrived: it needs version 2.16"


def found(call: NtfyCall, told: Iterable[JsonObject]) -> Receipt | None:
    """Raises when something looks like it, on a server too old to say whether it is."""
    messages = [event for event in told if event.get("event") == "message" and isinstance(event.get("id"), str)]
    ours = [event for event in messages if event.get("sequence_id") == call.sequence_id]
    if call.is_edit:
        ours = [event for event in ours if _says_the_same(call, event)]
    if ours:
        return Receipt(ours[-1]["id"])
    if any("sequence_id" not in event and _says_the_same(call, event) for event in messages):
        raise TargetUnavailable(_TOO_OLD)
    return None


def _kept_seconds(account: JsonObject) -> float:
    """As the server says to those who ask about their account."""
    said = as_object(account.get("limits")).get("messages_expiry_duration")
    return _USUAL_SECONDS if said is None else _number(said)


def _says_the_same(call: NtfyCall, event: JsonObject) -> bool:
    """The server takes the space off both ends."""
    return str(event.get("message", "")).strip() == call.text.strip() and event.get("title") == call.body.get("title")


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


# What was posted to the topic for answers, as presses; each once for those who go on from the position given with it.
#
# A position is a moment by the server's clock, in microseconds, and always beyond the last one.

_OVERLAP_SECONDS: Final = 10  # a server may keep two messages in another order than it dates them
_EVERYTHING: Final = "all"


def since(position: int | None) -> str:
    """From where to read, so that nothing is missed."""
    return _EVERYTHING if position is None else str(max(0, position // SECOND_US - _OVERLAP_SECONDS))


class Presses:
    """Remembers what it has handed out in the last seconds, and with which position."""

    def __init__(self, channel: str, assurance: Assurance) -> None:
        self._channel = channel
        self._assurance = assurance
        self._given: dict[str, int] = {}

    def heard(self, position: int | None, told: Iterable[JsonObject], *, everything: bool = True) -> Listened:
        new = self._new(position, told)
        if not new:
            return Listened(everything=everything)
        newest = max(_second(event) for event in new.values()) * SECOND_US
        reached = max(newest, 0 if position is None else position + 1)
        self._remember(new, reached)
        presses = [press for name, event in new.items() if (press := self._press(name, event)) is not None]
        return Listened(events=presses, position=reached, everything=everything)

    def has_new(self, position: int | None, told: Iterable[JsonObject]) -> bool:
        return bool(self._new(position, told))

    def _new(self, position: int | None, told: Iterable[JsonObject]) -> dict[str, JsonObject]:
        return {name: event for event in told if (name := _name(event)) and not self._is_handled(name, position)}

    def _is_handled(self, name: str, position: int | None) -> bool:
        """Asking with a position says that what came with it is handled; of what came later it says nothing."""
        return position is not None and name in self._given and self._given[name] <= position

    def _remember(self, new: Iterable[str], reached: int) -> None:
        oldest = reached - 2 * _OVERLAP_SECONDS * SECOND_US
        kept = {name: given for name, given in self._given.items() if given >= oldest}
        self._given = kept | dict.fromkeys(new, reached)

    def _press(self, name: str, event: JsonObject) -> Press | None:
        pressed = read_pressed(str(event.get("message", "")))
        if pressed is None:
            return None
        token, topic = pressed
        return Press(
            channel=self._channel,
            event_id=f"press:{name}",
            callback_id=name,
            places=(topic,),
            sender=topic,
            token=token,
            assurance=self._assurance,
        )


def _name(event: JsonObject) -> str | None:
    name = event.get("id")
    return name if event.get("event") == "message" and isinstance(name, str) and name else None


def _second(event: JsonObject) -> int:
    moment = event.get("time")
    return moment if isinstance(moment, int) and not isinstance(moment, bool) else 0


# A subscription to one topic that is held open until something is published there.

_LONGEST_LINE_BYTES: Final = 1_048_576
_Wanted = Callable[[Sequence[JsonObject]], bool]


class _TopicStream:
    """
    Opened anew for each look: what comes between two of them is in the server's cache.

    Errors are raised outside of the handlers that caught the library's own, which name the URL.
    """

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def until(
        self, url: str, headers: Mapping[str, str], wanted: _Wanted, timeout_seconds: float
    ) -> list[JsonObject] | HttpAnswer:
        """The events so far, as soon as they are wanted or the time is over; the answer itself when it is a refusal."""
        heard: list[JsonObject] = []
        try:
            async with (
                asyncio.timeout(timeout_seconds),
                self._opened().get(url, headers=headers, allow_redirects=False) as response,
            ):
                if response.status != 200:
                    return HttpAnswer(
                        status=response.status, headers=response.headers, body=await whole_answer(response.content)
                    )
                if await self._collect(response.content, heard, wanted):
                    return heard
        except TimeoutError:
            return heard
        except (aiohttp.ClientError, OSError):
            pass
        raise TargetUnavailable("ntfy ended the subscription")

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _collect(self, content: aiohttp.StreamReader, heard: list[JsonObject], wanted: _Wanted) -> bool:
        """False when the other side has ended it."""
        rest = b""
        while piece := await content.readany():
            lines, _, rest = (rest + piece).rpartition(b"\n")
            heard += events(lines)
            if wanted(heard):
                return True
            if len(rest) > _LONGEST_LINE_BYTES:
                break
        return False

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                cookie_jar=aiohttp.DummyCookieJar(), timeout=aiohttp.ClientTimeout(total=None, sock_connect=None)
            )
        return self._session


# The channel.


def answers_topic(given: Surroundings, name: str) -> str:
    """A topic is open to all who know it: this one cannot be guessed, and stays the same."""
    return f"postroom-{hmac.digest(given.key('answers topic'), name.encode(), 'sha256').hex()[:24]}"


PUBLIC_URL: Final = "https://ntfy.sh"
_SEND_ONLY: Final = replace(NTFY, buttons=False, most_buttons=None, inbound=False)
_JSON: Final = {"Content-Type": "application/json"}
_ASKING_SECONDS: Final = 10.0
_TOKEN: Final = re.compile(r"[!-~]{1,256}")


class Ntfy:
    """
    `answers_topic` is where telephones post what was pressed; without it messages have no buttons.

    Without a token every topic is open to all who know its name, so a press proves less there.
    """

    address = staticmethod(address)

    def __init__(
        self,
        name: str,
        url: str = PUBLIC_URL,
        token: str = "",
        answers_topic: str = "",
        *,
        files: FileContents | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        _check(token, answers_topic)
        self.name = name
        self.capabilities: Capabilities = NTFY if answers_topic else _SEND_ONLY
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._api = ProviderApi(
            "ntfy", url, read_refusal, now, setting="the ntfy url", secrets=[token], headers=self._headers
        )
        self._answers_topic = answers_topic
        self._presses = Presses(name, Assurance.CHANNEL if token else Assurance.LOW)
        self._files = files
        self._now = now
        self._stream = _TopicStream()

    @classmethod
    def of(cls, name: str, options: NtfyAccount, given: Surroundings) -> Ntfy:
        topic = options.answers_topic.reveal() or answers_topic(given, name)
        return cls(name, options.url.reveal(), options.token.reveal(), topic, files=given.files)

    def __repr__(self) -> str:
        return f"Ntfy(name={self.name!r}, url={self._api.base_url!r}, token=***)"

    def prepare(self, message: Message) -> Sequence[NtfyCall]:
        check_files(message, NTFY, self._files)
        calls = build(message, f"{self._api.base_url}/{self._answers_topic}" if self._answers_topic else "")
        if any(len(_written(call)) > BODY_BYTES for call in calls):
            raise ValidationError("the message is too long for ntfy with its title and buttons")
        return calls

    async def send(self, part: NtfyCall, timeout_seconds: float) -> Receipt:
        if part.deletes:
            return await self._delete(part, timeout_seconds)
        ends_at = time.monotonic() + timeout_seconds
        if part.keeps_file:
            part = with_file(part, await self._shown(part, timeout_seconds / 2))
        answer = await self._published(part, ends_at - time.monotonic())
        return _named(part, read_receipt(self._api.checked(answer, part.private)))

    async def _shown(self, part: NtfyCall, timeout_seconds: float) -> JsonObject:
        """The message as it came first, as long as the server keeps it; its file is gone no later."""
        body = (await self._api.ask("GET", f"{part.topic}/json?poll=1&since=all&id={part.about}", timeout_seconds)).body
        return next((event for event in events(body) if event.get("id") == part.about), {})

    async def _published(self, part: NtfyCall, timeout_seconds: float) -> HttpAnswer:
        if part.file is None:
            return await self._api.request("POST", "", timeout_seconds, _written(part), headers=_JSON)
        ends_at = time.monotonic() + timeout_seconds
        content = await read_file(self._files, part.file, timeout_seconds)
        headers = file_headers(part, part.file)
        return await self._api.request("PUT", part.topic, ends_at - time.monotonic(), content, headers=headers)

    async def find(self, part: NtfyCall, since: datetime, timeout_seconds: float) -> Receipt | None:
        """None only when the server keeps messages for long enough, and knows what a sequence id is."""
        moment = int(since.timestamp()) - _CLOCKS_DIFFER_SECONDS
        body = (await self._api.ask("GET", f"{part.topic}/json?poll=1&since={moment}", timeout_seconds / 2)).body
        told = list(events(body))
        if receipt := found(part, told):
            return _named(part, receipt)
        if len(body) >= MOST_BYTES:
            raise TargetUnavailable("ntfy has more messages in this topic than can be searched")
        # Whether one of them is there for a while; without any, nothing is known.
        if not any(_number(event.get("expires")) > _number(event.get("time")) for event in told):
            await self._be_sure_it_would_be_kept(since, timeout_seconds / 2)
        return None

    async def probe(self, timeout_seconds: float) -> str:
        account = await self._account(timeout_seconds)
        name = self._api.shown(account.get("username"))
        return name if name not in ("", "*") else "anonymous"

    async def listen(self, position: int | None, timeout_seconds: float) -> Listened:
        """Looks first at what has come, and waits only when that is nothing."""
        if not self._answers_topic:
            await asyncio.sleep(timeout_seconds)
            return Listened()
        path = f"{self._answers_topic}/json?since={since(position)}"
        body = (await self._api.ask("GET", f"{path}&poll=1", _ASKING_SECONDS)).body
        come = self._presses.heard(position, events(body), everything=len(body) < MOST_BYTES)
        if come.position is not None or timeout_seconds <= 0:
            return come
        return await self._wait(path, position, timeout_seconds)

    async def answer_press(self, callback_id: str, text: str = "", *, alert: bool = False) -> bool:
        """Nothing can be shown: the telephone only learns that its post arrived. The card itself is edited."""
        return False

    async def close(self) -> None:
        await self._api.close()
        await self._stream.close()

    async def _delete(self, part: NtfyCall, timeout_seconds: float) -> Receipt:
        """The telephones are told to take it away; a server that does not know how answers with a refusal."""
        self._api.checked(await self._api.request("DELETE", f"{part.topic}/{part.sequence_id}", timeout_seconds))
        return Receipt.of_change(ReceiptKind.DELETE, part.topic, part.about)

    async def _wait(self, path: str, position: int | None, timeout_seconds: float) -> Listened:
        def is_new(told: Sequence[JsonObject]) -> bool:
            return self._presses.has_new(position, told)

        url = f"{self._api.base_url}/{path}"

        async def heard() -> Listened:
            told = await self._stream.until(url, self._headers, is_new, timeout_seconds)
            if isinstance(told, HttpAnswer):
                raise self._api.refusal(told)
            return self._presses.heard(position, told)

        return await blameless(heard())

    async def _be_sure_it_would_be_kept(self, since: datetime, timeout_seconds: float) -> None:
        for_seconds = _kept_seconds(await self._account(timeout_seconds))
        if (self._now() - since).total_seconds() + _CLOCKS_DIFFER_SECONDS > for_seconds:
            raise TargetUnavailable("ntfy no longer keeps messages of that time, or keeps none at all")

    async def _account(self, timeout_seconds: float) -> JsonObject:
        """Empty on a server that has no accounts; then it says at least that it is well."""

        async def told() -> JsonObject:
            answer = await self._api.request("GET", "v1/account", timeout_seconds)
            if answer.status != 404:
                return self._api.checked(answer).told
            await self._api.ask("GET", "v1/health", timeout_seconds)
            return {}

        return await blameless(told())


def _named(call: NtfyCall, told: Receipt) -> Receipt:
    return Receipt.of_change(ReceiptKind.EDIT, call.topic, told.provider_id) if call.is_edit else told


def _written(call: NtfyCall) -> bytes:
    return json.dumps(call.body, ensure_ascii=False).encode()


def _check(token: str, answers_topic: str) -> None:
    if token and not _TOKEN.fullmatch(token):
        raise ValueError("the ntfy token is malformed")
    if answers_topic and not TOPIC.fullmatch(answers_topic):
        raise ValueError("answers_topic is not an ntfy topic: 1 to 64 letters, digits, - and _")
