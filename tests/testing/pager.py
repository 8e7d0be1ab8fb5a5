"""A channel that does everything a channel can do, to a provider that exists only here."""

from __future__ import annotations

import hashlib
import html
import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from postroom.kernel.http.answers import wait_seconds
from postroom.kernel.http.call import HttpAnswer as Answer
from postroom.kernel.http.call import HttpCall
from postroom.kernel.values.errors import (
    OutcomeUncertain,
    PostroomError,
    ProviderFailed,
    ProviderThrottled,
    TargetUnavailable,
    ValidationError,
)
from postroom.kernel.values.fields import text_problem
from postroom.message.attachment import Attachment, FileContents
from postroom.message.channel import Capabilities
from postroom.message.delivery import REPEAT_MARK, Intent, Message, Receipt
from postroom.message.inbound import Flag, InboundEvent, InboundMessage, Listened, Press

MOST_UNITS = 160
MOST_BUTTONS = 4
NUMBER = re.compile(r"[0-9]{3,12}")
THROTTLES = frozenset({420, 429})


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One call; the text is escaped, as the pager wants it."""

    key: str
    body: Mapping[str, Any] = field(repr=False)
    files: tuple[Attachment, ...] = field(default=(), repr=False)


class Pager:
    name = "pager"
    capabilities = Capabilities(
        max_units=MOST_UNITS,
        dedupes_for_seconds=3600.0,
        reconciles=True,
        buttons=True,
        most_buttons=MOST_BUTTONS,
        edits=True,
        reacts=True,
        replies=True,
        threads=True,
        files=True,
        most_files=3,
        most_file_bytes=1_000,
        most_files_bytes=1_500,
        inbound=True,
    )

    def __init__(
        self,
        url: str,
        token: str,
        *,
        files: FileContents | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._url, self._token, self._files, self._now = url, token, files, now
        self._http = HttpCall("the pager")

    def __repr__(self) -> str:
        return f"Pager({self._url!r}, token=***)"

    def address(self, text: str) -> str | None:
        return text.strip() if NUMBER.fullmatch(text.strip()) else None

    def prepare(self, message: Message) -> Sequence[Page]:
        self.check(message)
        texts = list(self.pieces(message.text)) if message.text else [""]
        if message.repeated:
            texts = [*texts, REPEAT_MARK]
        pages = [self.page(message, number, text) for number, text in enumerate(texts)]
        return [*pages[:-1], replace(self.last(message, pages[-1]), files=self.files(message))]

    def files(self, message: Message) -> tuple[Attachment, ...]:
        """They go with the last page."""
        return message.attachments

    def check(self, message: Message) -> None:
        if self.address(message.address) is None:
            raise ValidationError("recipient is no number of a pager")
        if message.intent is not Intent.REACT and not message.text.strip():
            raise ValidationError("message must not be blank")
        if problem := text_problem(message.text):
            raise ValidationError(f"message {problem}")
        if message.markup and len(message.markup.every_button) > MOST_BUTTONS:
            raise ValidationError(f"a page has at most {MOST_BUTTONS} buttons")
        self.check_files(message.attachments)

    def check_files(self, files: Sequence[Attachment]) -> None:
        can, sizes = self.capabilities, [one.size for one in files]
        limits = (can.most_files or 0, can.most_file_bytes or 0, can.most_files_bytes or 0)
        if any(have > most for have, most in zip((len(files), max(sizes, default=0), sum(sizes)), limits, strict=True)):
            raise ValidationError("attachments are more than a page can carry")

    def pieces(self, text: str) -> Iterator[str]:
        """Whole characters, as many as fit once they are escaped."""
        piece = ""
        for character in text:
            if len(self.escaped(piece + character)) > MOST_UNITS:
                yield piece
                piece = ""
            piece += character
        yield piece

    def escaped(self, text: str) -> str:
        return html.escape(text, quote=False)

    def page(self, message: Message, number: int, text: str) -> Page:
        body: dict[str, Any] = {"to": message.address, "text": self.escaped(text)}
        if message.intent is not Intent.SEND:
            body["answers"] = message.thread
        if message.intent is Intent.REACT:
            body["emoji"] = message.emoji
        if message.revises is not None:
            body["edit"] = message.revises.provider_ids[min(number, len(message.revises.provider_ids) - 1)]
        return Page(key=self.key(message, number), body=body)

    def last(self, message: Message, page: Page) -> Page:
        if message.markup is None:
            return page
        buttons = [
            {"label": one.label, "token": one.token} if one.token else {"label": one.label, "url": one.url}
            for one in message.markup.every_button
        ]
        return Page(key=page.key, body={**page.body, "buttons": buttons})

    def key(self, message: Message, number: int) -> str:
        return hashlib.sha256(f"{message.delivery_id}/{number}".encode()).hexdigest()[:20]

    async def send(self, part: Page, timeout_seconds: float) -> Receipt:
        return self.read(await self.post(part, timeout_seconds))

    async def post(self, part: Page, timeout_seconds: float) -> Answer:
        files = [await self.file(one) for one in part.files]
        content = json.dumps({**part.body, "key": part.key, "files": files}).encode()
        return await self._http.request(
            "POST", f"{self._url}/pages", timeout_seconds, body=content, headers=self.headers()
        )

    async def file(self, one: Attachment) -> dict[str, str]:
        assert self._files is not None
        return {"name": one.name, "data": b64encode(await self._files.read(one)).decode()}

    def headers(self) -> dict[str, str]:
        return {"Content-Type": "application/json", "Authorization": f"Bearer {self._token}"}

    def read(self, answer: Answer) -> Receipt:
        told = parsed(answer)
        if not 200 <= answer.status < 300 or "error" in told:
            raise self.refusal(answer, told)
        if not isinstance(told.get("id"), str):
            raise OutcomeUncertain("the pager took the message and named none")
        return Receipt(told["id"])

    def refusal(self, answer: Answer, told: Mapping[str, Any]) -> PostroomError:
        said = f"the pager answered {answer.status}"
        if answer.status in THROTTLES:
            return ProviderThrottled(said, retry_after_seconds=self.wait(answer, told))
        if answer.status == 401:
            return TargetUnavailable("the pager does not accept our token")
        if answer.status < 300 or 400 <= answer.status < 500:
            return ValidationError(said)
        return ProviderFailed(said) if answer.status == 500 else TargetUnavailable(said)

    def wait(self, answer: Answer, told: Mapping[str, Any]) -> float:
        number = told["retry_ms"] / 1000 if "retry_ms" in told else told.get("retry")
        return wait_seconds(number, answer.retry_after, self._now())

    async def find(self, part: Page, since: datetime, timeout_seconds: float) -> Receipt | None:
        told = await self.ask(f"/pages?key={part.key}", timeout_seconds)
        return next((Receipt(one["id"]) for one in told["pages"] if one["key"] == part.key), None)

    async def listen(self, position: int | None, timeout_seconds: float) -> Listened:
        told = await self.ask(f"/events?after={position or 0}", timeout_seconds + 5.0)
        events = [self.event(one) for one in told["events"]]
        return Listened(events=events, position=max((one["n"] for one in told["events"]), default=None))

    def event(self, told: Mapping[str, Any]) -> InboundEvent:
        marks = {Flag.BOT: told["bot"], Flag.FORWARDED: told["forwarded"]}
        flags = frozenset(flag for flag, is_so in marks.items() if is_so)
        if "token" in told:
            return Press(
                channel=self.name,
                event_id=f"press:{told['n']}",
                callback_id=str(told["n"]),
                places=(told["from"],),
                sender=told["from"],
                token=told["token"],
                flags=flags,
            )
        return InboundMessage(
            channel=self.name,
            number=told["n"],
            message_id=str(told["n"]),
            places=(told["from"],),
            sender=told["from"],
            text=told["text"],
            flags=flags,
        )

    async def ask(self, path: str, timeout_seconds: float) -> Any:
        """A question changes nothing, so no answer is only ever "unavailable"."""
        try:
            answer = await self._http.request("GET", self._url + path, timeout_seconds, headers=self.headers())
        except OutcomeUncertain as error:
            raise TargetUnavailable(error.message) from None
        if answer.status != 200:
            raise TargetUnavailable(f"the pager answered {answer.status}")
        return json.loads(answer.body)

    async def close(self) -> None:
        await self._http.close()


def parsed(answer: Answer) -> Mapping[str, Any]:
    try:
        told = json.loads(answer.body)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, Mapping) else {}
