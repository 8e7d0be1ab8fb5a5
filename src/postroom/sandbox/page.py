"""The page at which a person plays the person: a phone and a mailbox, which show by themselves what arrives."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from aiohttp import web

from postroom import console
from postroom.console.words import SafeLink, link_parts, safe_link
from postroom.delivery.files.kinds import PICTURES
from postroom.kernel.values.errors import ValidationError
from postroom.kernel.values.ids import to_datetime
from postroom.kernel.values.zones import known_zone, zone_word
from postroom.sandbox.faults import SandboxParts
from postroom.sandbox.person import SandboxPerson
from postroom.sandbox.records import ReceivedMail, TelegramMessage, given_file, with_room
from postroom.sandbox.telegram_objects import canonical_chat, keys

if TYPE_CHECKING:
    from jinja2 import Template

NOTICE: Final = "SANDBOX: nothing leaves this machine"
_EMOJI: Final = ("👍", "❤", "🎉", "😢")
_OWNER_CHAT: Final = "1000"
_MOST_CHATS, _MOST_SHOWN = 50, 200
_STATIC: Final = Path(__file__).parent / "static"
_CONSOLE: Final = Path(str(console.__file__)).parent / "static"
"""The page is a page of the console's house, and looks like it."""
_POLICY: Final = (
    *("default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'"),
    *("form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"),
)
_HEADERS: Final = {
    "Content-Security-Policy": "; ".join(_POLICY),
    "X-Content-Type-Options": "nosniff",
    # Not no-referrer: with it a browser hides the origin of the page's own forms, and the guard refuses them.
    "Referrer-Policy": "same-origin",
}

_Form = Mapping[str, str | web.FileField | bytes | bytearray]


@dataclass(frozen=True, kw_only=True)
class SandboxPage:
    parts: SandboxParts
    person: SandboxPerson
    zone: str | None = None

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/", self.to_page),
            web.get("/sandbox", self.to_page),
            web.get("/sandbox/", self.show),
            web.get("/sandbox/{name:page\\.(?:css|js)}", partial(self.static, _STATIC)),
            web.get("/sandbox/{name:console\\.css|icon\\.svg}", partial(self.static, _CONSOLE)),
            web.get("/sandbox/changes", self.changes),
            web.post("/sandbox/phone/message", self.type_message),
            web.post("/sandbox/phone/press", self.press),
            web.post("/sandbox/phone/reaction", self.tap),
            web.post("/sandbox/mailbox", self.write),
        ]

    async def to_page(self, request: web.Request) -> web.StreamResponse:
        raise web.HTTPFound("/sandbox/")

    async def show(self, request: web.Request) -> web.StreamResponse:
        return self.shown(request.query)

    async def static(self, folder: Path, request: web.Request) -> web.StreamResponse:
        return web.FileResponse(folder / request.match_info["name"], headers=_HEADERS)

    async def changes(self, request: web.Request) -> web.StreamResponse:
        """A line to every page that listens, at once and whenever something was kept."""
        told = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await told.prepare(request)
        while not self.parts.stopping.is_set():
            news = self.parts.ledger.changes.news()
            await told.write(b"data: changed\n\n")
            await news.wait()
        return told

    async def type_message(self, request: web.Request) -> web.StreamResponse:
        form = await with_room(request).post()
        body = _given(form, "chat_id", "reply_to_message_id", "from_id") | {"text": _text(form, "text")}
        files = [_file(one) for one in form.getall("files", []) if isinstance(one, web.FileField) and one.filename]
        return self._done(form, self.person.type_message, body | ({"files": files} if files else {}))

    async def press(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        return self._done(form, self.person.press_button, _given(form, "message_id", "button"))

    async def tap(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        return self._done(form, self.person.tap, _given(form, "chat_id", "message_id", "emoji"))

    async def write(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        body = _given(form, "from", "to", "subject", "in_reply_to") | {"body": _text(form, "body")}
        return self._done(form, self.person.write, body)

    def _done(self, form: _Form, act: Callable[[object], object], body: Mapping[str, object]) -> web.Response:
        """What is refused stays in its form."""
        chat = _text(form, "chat_id")
        try:
            act(body)
        except ValidationError as error:
            asked = {
                "chat": chat,
                "reply_to": _text(form, "reply_to_message_id") or "none",
                "mail": _text(form, "mail"),
            }
            return self.shown(asked, form, error)
        raise web.HTTPSeeOther("/sandbox/?" + urlencode({"chat": chat}))

    def shown(
        self, asked: Mapping[str, str], draft: _Form | None = None, refused: ValidationError | None = None
    ) -> web.Response:
        chats = self.parts.ledger.chats(_MOST_CHATS)
        chat = canonical_chat(asked.get("chat", "")) or next(iter(chats), _OWNER_CHAT)
        said = self.parts.ledger.shown(TelegramMessage, place=chat, limit=_MOST_SHOWN)
        mails = self.parts.ledger.shown(ReceivedMail, limit=_MOST_SHOWN)[::-1]
        answered = [one for one in mails if not one.from_person and str(one.number) == asked.get("mail")]
        text = self._template.render(
            notice=NOTICE,
            faults=len(self.parts.faults.listed()),
            problem="" if refused is None else refused.message,
            draft={name: value for name, value in (draft or {}).items() if isinstance(value, str)},
            chat=chat,
            chats=chats if chat in chats else [chat, *chats],
            said=said,
            texts={one.number: one.text for one in said},
            reply_to=_replied(said, asked.get("reply_to")),
            mails=mails,
            answered=next(iter(answered), None),
        )
        status = 200 if refused is None else 422
        return web.Response(text=text, content_type="text/html", status=status, headers=_HEADERS)

    @cached_property
    def _template(self) -> Template:
        """Made for the first who looks: most sandboxes only ever talk to programs."""
        from jinja2 import Environment, PackageLoader, StrictUndefined

        environment = Environment(
            loader=PackageLoader("postroom.sandbox"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        environment.globals |= {
            "emojis": _EMOJI,
            "is_picture": PICTURES.__contains__,
            "key_rows": _key_rows,
            "labels": _labels,
            "link_parts": link_parts,
            "looks": looks,
            "moment": partial(_moment, zone=self.zone),
            "force_reply": _force_reply,
        }
        return environment.get_template("page.html")


def _text(form: _Form, name: str) -> str:
    """As it was typed; a browser ends lines its own way."""
    value = form.get(name, "")
    return value.replace("\r\n", "\n") if isinstance(value, str) else ""


def _given(form: _Form, *names: str) -> dict[str, object]:
    return {name: text for name in names if (text := _text(form, name).strip())}


def _file(one: web.FileField) -> dict[str, str]:
    given = given_file(one)
    return {"name": given.name, "media_type": given.media_type, "data": base64.b64encode(given.content).decode()}


def _moment(us: int, zone: str | None) -> str:
    """By the household's clock, or the machine's where there is none."""
    at = to_datetime(us).astimezone(known_zone(zone) if zone else None)
    return f"{at:%d %b, %H:%M} {zone_word(at)}"


def _force_reply(message: TelegramMessage) -> str | None:
    """What the box to reply in is to say, which may be nothing; None when no reply is asked for."""
    markup = message.reply_markup or {}
    return str(markup.get("input_field_placeholder") or "") if markup.get("force_reply") is True else None


def _key_rows(message: TelegramMessage) -> list[list[dict[str, Any]]]:
    """A link that is none of the web is not offered."""
    rows = (message.reply_markup or {}).get("inline_keyboard", ())
    rows = [[key | {"link": safe_link(str(key.get("url")))} for key in row] for row in rows]
    return [[key for key in row if key["link"] or key.get("callback_data")] for row in rows]


def _labels(message: TelegramMessage) -> dict[str, str]:
    """What stands or stood on the buttons, by what they say to the bot."""
    every = [*(edit.reply_markup for edit in message.edits), message.reply_markup]
    return {key["callback_data"]: key["text"] for one in every for key in keys(one) if "callback_data" in key}


def _replied(said: Sequence[TelegramMessage], asked: str | None) -> TelegramMessage | None:
    """The message that was chosen; without a choice, the newest when it asks for a reply; `none` is a choice too."""
    if asked is None:
        return next((one for one in said[-1:] if _force_reply(one) is not None), None)
    return next((one for one in said if str(one.number) == asked), None)


# How a message looks on the sandbox's phone: in pieces of one look each, made from what a bot sent.

_TAGS: Final = {
    "bold": "strong",
    "italic": "em",
    "strikethrough": "s",
    "code": "code",
    "pre": "code",
    "blockquote": "q",
    "text_link": "",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedText:
    """`tags` are of our own few; `ends` where a link does, and where it leads is shown."""

    text: str
    tags: tuple[str, ...] = ()
    link: SafeLink | None = None
    ends: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    start: int
    end: int
    tag: str
    link: SafeLink | None


def looks(text: str, entities: Iterable[object] | None) -> Sequence[LookedText]:
    """What does not fit the text looks plain, as on a phone that does not know it."""
    units = _utf16_places(text)
    spans = [span for one in entities or () if (span := _span(one, units)) is not None]
    edges = sorted({0, len(text), *(edge for span in spans for edge in (span.start, span.end))})
    return [_looked(text, start, end, spans) for start, end in pairwise(edges)]


def _looked(text: str, start: int, end: int, spans: Sequence[_Span]) -> LookedText:
    around = [span for span in spans if span.start <= start and end <= span.end]
    linked = next((span for span in around if span.link), None)
    tags = tuple(dict.fromkeys(span.tag for span in around if span.tag))
    ends = linked is not None and linked.end == end
    return LookedText(text=text[start:end], tags=tags, link=linked.link if linked else None, ends=ends)


def _span(entity: object, units: Mapping[int, int]) -> _Span | None:
    if not isinstance(entity, Mapping) or entity.get("type") not in _TAGS:
        return None
    offset, length = entity.get("offset"), entity.get("length")
    if type(offset) is not int or type(length) is not int:
        return None
    start, end = units.get(offset), units.get(offset + length)
    if start is None or end is None or start >= end:
        return None
    return _Span(start=start, end=end, tag=_TAGS[entity["type"]], link=safe_link(str(entity.get("url"))))


def _utf16_places(text: str) -> dict[int, int]:
    """Where each character begins, by the units Telegram counts."""
    places, unit = {0: 0}, 0
    for number, character in enumerate(text, 1):
        unit += 2 if character > "\uffff" else 1
        places[unit] = number
    return places
