"""The sandbox's phone and mailbox: see what arrived, and play the person who got it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol
from urllib.parse import urlencode

from starlette.responses import Response

from postroom.domain.errors import PostroomError, TargetUnavailable
from postroom.doors.console.names import Place
from postroom.doors.console.root import ROOT
from postroom.doors.console.sandbox_files import file_answer, shown_files
from postroom.doors.console.sandbox_keys import linked
from postroom.doors.console.sandbox_view import MOST_SHOWN, Bubble, Phone, awaited, fingerprint, letters, phone
from postroom.doors.console.visit import ConsolePage, ConsoleSection, Visit

EMOJI: Final = ("👍", "❤", "🎉", "😢")
_LONGEST_MESSAGE: Final = 4096
_HASH: Final = re.compile(r"[0-9a-f]{64}")


class SandboxDoor(Protocol):
    """The sandbox's own control API, wherever it runs. Raises TargetUnavailable and ValidationError."""

    async def messages(self, path: str) -> list[dict[str, Any]]: ...

    async def post(self, path: str, body: Mapping[str, Any]) -> None: ...

    async def file(self, sha256: str) -> bytes | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxPages:
    door: SandboxDoor

    async def show(self, visit: Visit) -> Response:
        try:
            sent, typed, received, written = await asyncio.gather(
                *(self.door.messages(f"{path}?limit={MOST_SHOWN}") for path in _LISTINGS)
            )
        except TargetUnavailable:
            return visit.show("sandbox.html", **_BLANK)
        shown = phone(sent, typed, visit.query.get("chat", ""))
        seen = fingerprint(shown.chat, sent, typed, received, written)
        if visit.query.get("seen") == seen:
            return Response(status_code=204)  # nothing to bring up to date
        answered = visit.query.get("mail", "")
        return visit.show(
            "sandbox.html",
            is_away=False,
            phone=shown,
            letters=letters(received, written),
            names=await visit.names(_places(shown, received, written)),
            reply_to=_replied(shown, visit.query.get("reply_to")),
            answered=next((one for one in received if str(one["id"]) == answered), None),
            emojis=EMOJI,
            linked=linked,
            shown_files=shown_files,
            same_page=f"{ROOT}/sandbox?" + urlencode({"chat": shown.chat or "", "seen": seen}),
        )

    async def file(self, visit: Visit) -> Response:
        """The page that shows a picture has it from here: a browser at another machine does not reach the sandbox."""
        sha256 = visit.path["sha256"]
        try:
            content = await self.door.file(sha256) if _HASH.fullmatch(sha256) else None
        except TargetUnavailable:
            content = None
        return Response(status_code=404) if content is None else file_answer(content)

    async def type_message(self, visit: Visit) -> Response:
        text = visit.form.get("text").replace("\r\n", "\n")[:_LONGEST_MESSAGE]
        body: dict[str, Any] = {"chat_id": visit.form.get("chat").strip(), "text": text}
        if (reply_to := _number(visit.form.get("reply_to"))) is not None:
            body["reply_to_message_id"] = reply_to
        if member := visit.form.get("from_id").strip():
            body["from_id"] = member
        return await self._done(visit, "telegram/inbound", body, "Sent from the phone.")

    async def tap(self, visit: Visit) -> Response:
        """An empty emoji takes the reaction back."""
        body = {**_message(visit), "emoji": visit.form.get("emoji")}
        return await self._done(visit, "telegram/reaction", body, "Tapped." if body["emoji"] else "Taken back.")

    async def press(self, visit: Visit) -> Response:
        body = {"message_id": _number(visit.form.get("message_id")), "button": visit.form.get("data")}
        return await self._done(visit, "telegram/press", body, "Pressed.")

    async def write(self, visit: Visit) -> Response:
        fields = ("from", "to", "subject", "body", "in_reply_to")
        body = {name: visit.form.get(name).replace("\r\n", "\n") for name in fields}
        return await self._done(visit, "email/inbound", {name: text for name, text in body.items() if text}, "Written.")

    async def _done(self, visit: Visit, path: str, body: Mapping[str, Any], said: str) -> Response:
        back = "/sandbox?" + urlencode({"chat": visit.form.get("chat")})
        try:
            await self.door.post(path, body)
        except PostroomError as error:
            return visit.go(back, f"The sandbox refused: {error.message}", "bad")
        return visit.go(back, said)


def sandbox_section(door: SandboxDoor) -> ConsoleSection:
    pages = SandboxPages(door=door)
    return ConsoleSection(
        name="Sandbox",
        pages=(
            ConsolePage("/sandbox", pages.show),
            ConsolePage("/sandbox/file/{sha256}", pages.file),
            ConsolePage("/sandbox/message", pages.type_message, "POST"),
            ConsolePage("/sandbox/reaction", pages.tap, "POST"),
            ConsolePage("/sandbox/press", pages.press, "POST"),
            ConsolePage("/sandbox/mail", pages.write, "POST"),
        ),
    )


_LISTINGS: Final = ("telegram/messages", "telegram/inbound", "email/messages", "email/inbound")
_BLANK: Final[Mapping[str, Any]] = {
    "is_away": True,
    "phone": None,
    "letters": (),
    "names": None,
    "reply_to": None,
    "answered": None,
    "emojis": EMOJI,
    "linked": linked,
    "shown_files": shown_files,
    "same_page": f"{ROOT}/sandbox",
}


def _places(shown: Phone, *mails: Sequence[Mapping[str, Any]]) -> Iterator[Place]:
    """Everybody who writes or is written to here."""
    yield from (("telegram", chat) for chat in shown.chats)
    yield from (("telegram", str(one.from_id)) for one in shown.bubbles if one.from_id)
    for mail in (one for listed in mails for one in listed):
        yield from (("email", str(mail[side])) for side in ("from", "to"))


def _replied(shown: Phone, asked: str | None) -> Bubble | None:
    """The message that was chosen; without a choice, the one that asks for a reply; `none` is a choice too."""
    if asked is None:
        return awaited(shown)
    return next((one for one in shown.bubbles if str(one.message_id) == asked), None)


def _message(visit: Visit) -> dict[str, Any]:
    return {"chat_id": visit.form.get("chat"), "message_id": _number(visit.form.get("message_id"))}


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 18 else None
