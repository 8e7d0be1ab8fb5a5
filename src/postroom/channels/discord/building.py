"""A message as the requests it takes on Discord; pure, and the same every time."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from typing import Final, assert_never
from urllib.parse import quote, urlsplit

from postroom.channels.shared import (
    MultipartForm,
    check_text,
    edited,
    emoji_of,
    fits_a_button,
    form_files,
    form_of,
    linked,
    one_line,
    plain_name,
    token_of,
    web_links,
    with_links,
)
from postroom.kernel.http.answers import JsonBody, JsonObject, asked_seconds, by_status, objects_in, throttled
from postroom.kernel.http.call import HttpAnswer
from postroom.kernel.text.rich import (
    RichText,
    SpanStyle,
    TextSpan,
    cut,
    fitting,
    folded_over,
    is_emoji,
    marked,
    says_target,
    split,
    utf16_length,
)
from postroom.kernel.values.errors import (
    CredentialsRefused,
    PostroomError,
    TargetUnavailable,
    ValidationError,
)
from postroom.kernel.values.ids import DeliveryId
from postroom.message.attachment import Attachment
from postroom.message.delivery import REPEAT_MARK, Format, Intent, Message, Receipt, ReceiptKind
from postroom.message.markup import Button, ButtonStyle, Markup, Revision

# What counts as an address on Discord: a channel's number, or `user:` and a person's number.

USER: Final = "user:"
_SNOWFLAKE = re.compile(r"[0-9]{1,20}")
_LARGEST: Final = 2**64 - 1
_EPOCH_MS: Final = 1_420_070_400_000  # Discord counts from the beginning of 2015


def address(text: str) -> str | None:
    """A channel id or `user:ID`; the same place has one spelling."""
    text = text.strip(" ")
    named, _, number = text.rpartition(":")
    if named.lower() + ":" == USER:
        return f"{USER}{plain}" if (plain := snowflake(number)) else None
    return snowflake(text)


def snowflake(text: object) -> str | None:
    if not isinstance(text, str) or not _SNOWFLAKE.fullmatch(text) or not 0 < int(text) <= _LARGEST:
        return None
    return str(int(text))


def made_at_us(number: str) -> int:
    """Every number of Discord's tells when it was given."""
    return ((int(number) >> 22) + _EPOCH_MS) * 1_000


# One request to Discord about one place, ready to be made.


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordRequest:
    """
    `place` is a channel, or a person whose direct channel is found first; `path` goes on below the channel.

    The body holds the message and stays out of `repr`. With `files` it goes as a form, and their bytes are read when
    the request is made.
    """

    act: ReceiptKind
    place: str
    method: str
    path: str
    about: str = ""
    """The message that is edited, deleted or reacted to."""
    body: JsonObject | None = field(default=None, repr=False)
    files: tuple[Attachment, ...] = field(default=(), repr=False)

    @property
    def private(self) -> list[str]:
        """What no error may quote: the text, the files' names, and links and tokens that are as good as an answer."""
        body = self.body or {}
        named = (one.name for one in self.files)
        return [str(body.get("content", "")), *named, *_behind_buttons(body.get("components", []))]


def _behind_buttons(rows: list[JsonObject]) -> Iterator[str]:
    for row in rows:
        for key in row["components"]:
            yield key.get("url") or key["custom_id"]


# From a message to its requests.

_SUPPRESS_EMBEDS: Final = 1 << 2
NO_MENTIONS: Final[JsonBody] = {"parse": [], "replied_user": False}
_OWN_EMOJI = re.compile(r"[A-Za-z0-9_]{2,32}:[0-9]{1,20}")  # one that a server has made


def build(message: Message) -> Sequence[DiscordRequest]:
    if message.revises is not None:
        return _edits(message, message.revises)
    match message.intent:
        case Intent.SEND:
            return _texts(message, {})
        case Intent.REPLY:
            return _texts(message, _about(_message_id(message)))
        case Intent.REACT:
            return (_reaction(message),)
        case _:
            assert_never(message.intent)


def nonce(delivery_id: DeliveryId, part: int) -> str:
    """The same for every attempt at the same part, within Discord's 25 characters."""
    return urlsafe_b64encode(sha256(f"{delivery_id}:{part}".encode()).digest()[:18]).decode()


def receipt_of(request: DiscordRequest, channel_id: str, message_id: str) -> Receipt:
    if request.act is ReceiptKind.SENT:
        return Receipt(message_id, conversation=channel_id)
    return Receipt.of_change(request.act, channel_id, request.about, channel_id)


def _texts(message: Message, first_only: JsonBody) -> Sequence[DiscordRequest]:
    """Buttons and files stand under the last part."""
    check_text(message)
    parts = _parts(message)
    bodies = [_body(message.delivery_id, number, {"content": part}) for number, part in enumerate(parts)]
    bodies[0] |= first_only
    if under := components(message.markup):
        bodies[-1]["components"] = under
    place = _place(message.address)
    requests = [
        DiscordRequest(act=ReceiptKind.SENT, place=place, method="POST", path="messages", body=body) for body in bodies
    ]
    return (*requests[:-1], _with_files(requests[-1], message.attachments))


def _edits(message: Message, revises: Revision) -> Sequence[DiscordRequest]:
    """A text that needs more messages than stand there goes on in answers to the first; what has the files stays."""
    numbers = [_number(one) for one in revises.standing]
    if not numbers:
        raise ValidationError("the Discord message to edit must be named by its number")
    place = _place(revises.conversation or message.address)
    if revises.deletes:
        return tuple(_delete(place, number) for number in numbers)
    under: JsonBody = {"components": components(message.markup)}
    check_text(message)
    if not message.text:
        return (_edit(place, numbers[-1], under),)
    texts: list[JsonBody] = [{"content": text} for text in _parts(message)]
    texts[-1] |= under
    kept = _kept(numbers, len(texts), revises.provider_ids[-1] if revises.files else None)
    shown = dict(zip(kept, texts, strict=False))
    changed = [_edit(place, one, shown[one]) if one in shown else _delete(place, one) for one in numbers]
    return edited(changed, (), _answers(message, place, numbers[0], texts[len(kept) :]))


def _kept(numbers: list[str], texts: int, with_files: str | None) -> list[str]:
    """So many of the first ones, and what holds the files in any case."""
    kept = numbers[:texts]
    return kept if with_files is None or with_files in kept else [*kept[:-1], with_files]


def _answers(message: Message, place: str, to: str, texts: list[JsonBody]) -> Iterator[DiscordRequest]:
    for number, text in enumerate(texts):
        body = _body(message.delivery_id, number, text) | _about(to)
        yield DiscordRequest(act=ReceiptKind.SENT, place=place, method="POST", path="messages", body=body)


def _parts(message: Message) -> list[str]:
    links = linked(message.markup, _fits_under)
    if message.format is not Format.MARKDOWN:
        return shown_parts(with_links(message.text, links), repeated=message.repeated)
    rich = web_links(message.text)
    return rich_shown_parts(rich.followed_by(with_links(rich.text, links)), repeated=message.repeated)


def _edit(place: str, number: str, body: JsonBody) -> DiscordRequest:
    body = body | {"allowed_mentions": NO_MENTIONS}
    return DiscordRequest(
        act=ReceiptKind.EDIT, place=place, method="PATCH", path=f"messages/{number}", about=number, body=body
    )


def _delete(place: str, number: str) -> DiscordRequest:
    return DiscordRequest(act=ReceiptKind.DELETE, place=place, method="DELETE", path=f"messages/{number}", about=number)


def _reaction(message: Message) -> DiscordRequest:
    emoji = emoji_of(message, lambda one: is_emoji(one) or _OWN_EMOJI.fullmatch(one))
    about = _message_id(message)
    path = f"messages/{about}/reactions/{quote(emoji, safe='')}/@me"
    return DiscordRequest(act=ReceiptKind.REACTION, place=_place(message.address), method="PUT", path=path, about=about)


def _body(delivery_id: DeliveryId, part: int, text: JsonBody) -> JsonBody:
    key = {"nonce": nonce(delivery_id, part), "enforce_nonce": True}
    return text | {"flags": _SUPPRESS_EMBEDS, "allowed_mentions": NO_MENTIONS} | key


def _about(number: str) -> JsonBody:
    return {"message_reference": {"message_id": number, "fail_if_not_exists": False}}


def _place(text: str) -> str:
    if (canonical := address(text)) is None:
        raise ValidationError("recipient is neither a Discord channel id nor user:ID")
    return canonical


def _message_id(message: Message) -> str:
    return _number(message.thread or "")


def _number(text: str) -> str:
    if (number := snowflake(text)) is None:
        raise ValidationError("the Discord message must be named by its number")
    return number


# A text so that Discord shows exactly that: nothing in it is markup, and no part of it is too long.

TEXT_LIMIT: Final = 2000  # "characters" to Discord; two units for some of them is the careful count
_ALWAYS_FITS: Final = TEXT_LIMIT // 2  # a backslash before every single character
_STEP: Final = 50

# To Discord a link goes on until white space or "<", whatever stands in it, and a backslash there is a part of it:
# so links stay as they are, and one that runs into a "<" is ended by a space before the backslash.
_MARKUP = re.compile(
    r"""
      (?P<link> (?: https? | steam ) :// [^\s<\ufeff]* [^\s<\ufeff.,:;"'\]] [.,:;"'\]]* ) (?P<glued> (?=<) )?
    | (?: ^ | (?<=[\r\u2028\u2029]) ) (?P<indent> [^\S\n]* ) (?:
          (?P<digits> [0-9]+ ) (?P<dot> [.)] )        # a list with numbers, which Discord would count anew
        | (?P<bullet> [>\#+-] )                       # a quote, a heading, a list, small print
      )
    | (?P<mark> [\\*_~|`<\[@] | :(?=[\w+~-]+:) )      # styles, spoilers, code, links, mentions, emoji by name
    """,
    re.VERBOSE | re.MULTILINE,
)


def escaped(text: str) -> str:
    return _MARKUP.sub(_escape, text)


def shown_parts(text: str, *, repeated: bool = False) -> list[str]:
    """In order; only white space at a cut is left out."""
    parts = [escaped(part) for part in _fitting(text, TEXT_LIMIT)]
    return marked(parts, REPEAT_MARK, TEXT_LIMIT) if repeated else parts


def shown_beginning(text: str) -> str:
    """As much as fits into one message."""
    tries = (escaped(cut(text, room)) for room in range(TEXT_LIMIT, _ALWAYS_FITS, -_STEP))
    return next(filter(_fits_as_shown, tries), escaped(cut(text, _ALWAYS_FITS)))


def _fitting(text: str, room: int) -> Iterator[str]:
    """Pieces that fit once they are escaped; only a piece that does not is cut further."""
    for part in split(text, room):
        if _fits_as_shown(escaped(part)):
            yield part
        else:
            yield from _fitting(part, max(room * 3 // 4, _ALWAYS_FITS))


def _fits_as_shown(text: str) -> bool:
    return utf16_length(text) <= TEXT_LIMIT


def _escape(found: re.Match[str]) -> str:
    if found["link"]:
        return found["link"] + " " * (found["glued"] is not None)
    if found["mark"]:
        return f"\\{found['mark']}"
    return f"{found['indent']}{found['digits'] or ''}\\{found['dot'] or found['bullet']}"


# Markdown for Discord: written anew from the spans in its own markup, and everything between them escaped.

_BLOCKS: Final = frozenset({SpanStyle.HEADING, SpanStyle.QUOTE})
_DEEPEST_HEADING: Final = 3
_LANGUAGE: Final = re.compile(r"[A-Za-z0-9+#-]*")


def rich_shown_parts(rich: RichText, *, repeated: bool = False) -> list[str]:
    parts = [written(part) for part in fitting(rich, TEXT_LIMIT, lambda part: _fits_as_shown(written(part)))]
    return marked(parts, REPEAT_MARK, TEXT_LIMIT) if repeated else parts


def written(part: RichText) -> str:
    return folded_over(RichText(part.text, tuple(_shown(part))), escaped, _mark)


def _shown(part: RichText) -> Iterator[TextSpan]:
    """What Discord could not read as it was meant is left out: its text stays."""
    around: list[TextSpan] = []
    for span in part.spans:
        around = [outer for outer in around if outer.end > span.start]
        if (one := _fitted(part, span, {outer.style for outer in around})) is not None:
            around.append(one)
            yield one


def _fitted(part: RichText, span: TextSpan, around: set[SpanStyle]) -> TextSpan | None:
    begins_line = part.text[span.start - 1 : span.start] in ("", "\n")
    match span.style:
        case SpanStyle.QUOTE:
            return span if begins_line and not around else None
        case SpanStyle.HEADING:
            is_line = begins_line and "\n" not in part.under(span) and int(span.detail) <= _DEEPEST_HEADING
            return span if is_line else replace(span, style=SpanStyle.BOLD)
        case SpanStyle.ITALIC:
            return None if part.text[span.end : span.end + 1].isalnum() else span
        case SpanStyle.CODE | SpanStyle.PRE:
            fence = "`" if span.style is SpanStyle.CODE else "```"
            return None if fence in part.under(span) or around - _BLOCKS else span
        case SpanStyle.BOLD:
            return None if SpanStyle.BOLD in around else span
        case _:
            return span


def _mark(span: TextSpan, inside: str, bare: str) -> str:
    match span.style:
        case SpanStyle.BOLD:
            return f"**{inside}**"
        case SpanStyle.ITALIC:
            return f"_{inside}_"
        case SpanStyle.STRIKE:
            return f"~~{inside}~~"
        case SpanStyle.CODE:
            return f"`{bare}`"
        case SpanStyle.PRE:
            return f"```{span.detail if _LANGUAGE.fullmatch(span.detail) else ''}\n{bare}\n```"
        case SpanStyle.LINK:
            return _link(span.detail, inside, bare)
        case SpanStyle.HEADING:
            return f"{'#' * int(span.detail)} {inside}"
        case SpanStyle.QUOTE:
            return "> " + inside.replace("\n", "\n> ")


def _link(target: str, inside: str, bare: str) -> str:
    """The host is shown with every link. Words that are an address themselves are not masked, Discord would not."""
    if says_target(bare, target):
        return f"<{target}>"
    if "://" in bare or "\n" in bare:
        return f"{inside} (<{target}>)"
    label = inside.replace("]", "\\]")
    return f"[{label}](<{target}>) ({escaped(urlsplit(target).hostname or '')})"


# What stands under a Discord message: rows of buttons.

_IN_A_ROW: Final = 5
_MOST_ROWS: Final = 5
_MOST_BUTTONS: Final = _IN_A_ROW * _MOST_ROWS
_LONGEST_LABEL: Final = 80
_LONGEST_TOKEN: Final = 100
_LONGEST_LINK: Final = 512
_ROW, _BUTTON = 1, 2
_PLAIN, _LINK = 2, 5
_STYLES: Final = {ButtonStyle.PRIMARY: 1, ButtonStyle.SUCCESS: 3, ButtonStyle.DANGER: 4}


def components(markup: Markup | None) -> list[JsonBody]:
    """Empty without buttons, which in an edit takes away what stood there."""
    buttons = [[one for one in row if _fits_under(one)] for row in (markup.buttons if markup else ())]
    if sum(map(len, buttons)) > _MOST_BUTTONS:
        raise ValidationError(f"a Discord message has at most {_MOST_BUTTONS} buttons")
    return [{"type": _ROW, "components": [_element(one) for one in row]} for row in _rows(buttons)]


def _fits_under(button: Button) -> bool:
    """A link that Discord takes in no button would cost the whole message."""
    return button.url is None or (len(button.url) <= _LONGEST_LINK and fits_a_button(button))


def _rows(given: Sequence[Sequence[Button]]) -> list[Sequence[Button]]:
    """As they were meant if that many rows fit, else one after the other."""
    meant = [part for row in given for part in _batched(row)]
    return meant if len(meant) <= _MOST_ROWS else _batched([one for row in given for one in row])


def _batched(row: Sequence[Button]) -> list[Sequence[Button]]:
    return [row[start : start + _IN_A_ROW] for start in range(0, len(row), _IN_A_ROW)]


def _element(button: Button) -> JsonBody:
    key = {"type": _BUTTON, "label": cut(one_line(button.label), _LONGEST_LABEL)}
    if button.url is not None:
        return key | {"style": _LINK, "url": button.url}
    style = _STYLES[button.style] if button.style else _PLAIN
    return key | {"style": style, "custom_id": token_of(button, _LONGEST_TOKEN)}


# Files under a Discord message: one form with the message and all of them, so one request and one outcome.


def _with_files(request: DiscordRequest, files: Sequence[Attachment]) -> DiscordRequest:
    if not files:
        return request
    listed = [{"id": place, "filename": plain_name(one)} for place, one in enumerate(files)]
    return replace(request, body={**(request.body or {}), "attachments": listed}, files=tuple(files))


def form(request: DiscordRequest, contents: Sequence[bytes]) -> MultipartForm:
    files = form_files(request.files, contents, lambda place: f"files[{place}]")
    return form_of({"payload_json": json.dumps(request.body)}, files)


# What Discord's refusals mean: by the code in the answer first, by the status where there is none.

BAD_TOKEN: Final = "Discord does not accept our bot token"  # noqa: S105 - a sentence
_BAD_TOKEN: Final = frozenset({40001, 50014})
_BANNED_SECONDS: Final = 60.0  # a 429 without a word comes from the wall before Discord, and asking makes it last

_NEVER: Final[Mapping[int, str]] = {
    10003: "Discord knows no such channel",
    10008: "that Discord message is gone",
    10013: "Discord knows no such user",
    10014: "Discord does not know this emoji",
    20009: "Discord does not bring this content to this recipient",
    30010: "that Discord message has as many reactions as it can have",
    40005: "the message is too large for Discord",
    40058: "a Discord forum takes posts, not messages: name one of its posts",
    50001: "the bot cannot see this Discord channel",
    50005: "only its author can edit a Discord message",
    50006: "Discord takes no empty message",
    50007: "this person takes no direct messages from the bot on Discord, or has blocked it",
    50008: "nothing can be written in this Discord channel",
    50009: "this Discord server does not let the bot write until it is verified further",
    50013: "the bot lacks the right to do that in this Discord channel",
    50033: "Discord knows no such recipient",
    50083: "this Discord thread is archived",
    50278: "the bot shares no Discord server with this person, so it cannot write to them",
    90001: "this person has blocked the bot's reactions",
    160002: "the bot may not read this Discord channel's history, so it cannot reply there",
    160005: "this Discord thread is locked",
    200000: "the Discord server's moderation rules block this message",
    240000: "Discord's filter of harmful links blocks this message",
}
_FORM: Final = 50035
_LATER: Final[Mapping[int, str]] = {
    40004: "Discord has turned off sending messages for now",
    40006: "Discord has turned this feature off for now",
    40333: "the wall before Discord (Cloudflare) turns our requests away",
    130000: "Discord is overloaded",
}
_SLOWER: Final[Mapping[int, tuple[str, float]]] = {
    20016: ("this Discord channel is in slow mode", 5.0),
    20022: ("Discord limits edits of announcements", 60.0),
    20028: ("too much is being written in this Discord channel", 5.0),
    20029: ("too much is being written in this Discord server", 5.0),
    30046: ("Discord limits edits of old messages", 60.0),
    40003: ("the bot opens direct messages too fast for Discord", 60.0),
}


def read_refusal(answer: HttpAnswer, words: str, now: datetime) -> PostroomError:
    status, told, code = answer.status, answer.told, _code(answer.told)
    if status == 401 or code in _BAD_TOKEN:
        return CredentialsRefused(BAD_TOKEN)
    if status == 429 or code in _SLOWER:
        return _throttled(code, told, answer.retry_after, now)
    if code in _LATER:
        return TargetUnavailable(_LATER[code])
    if code in _NEVER:
        return ValidationError(_NEVER[code])
    said = f"Discord answered {status}" + (f": {words}" if words else "")
    if status == 403 and not told:
        return TargetUnavailable(_LATER[40333])
    return by_status(f"Discord does not take the message as it is: {words}" if code == _FORM else said, status)


def inner_words(told: JsonObject) -> object:
    """A refused form says "Invalid Form Body"; what is wrong with which field stands further inside."""
    errors, where = told.get("errors"), list[str]()
    for _ in range(10):
        if not isinstance(errors, Mapping) or not errors:
            break
        if listed := objects_in(errors.get("_errors")):
            return f"{'.'.join(where)}: {listed[0].get('message')}"
        name = next(iter(errors))
        where, errors = [*where, str(name)], errors[name]
    return told.get("message")


def _throttled(code: int, told: JsonObject, retry_after: str | None, now: datetime) -> PostroomError:
    said, usual = _SLOWER.get(code, ("Discord asks us to write more slowly", _BANNED_SECONDS))
    if told.get("global") is True:
        said = "Discord asks this bot to make no requests at all for a while"
    known = told.get("retry_after") is not None or retry_after is not None
    asked = asked_seconds(told.get("retry_after"), retry_after, now) if known else usual
    return throttled(said, asked)


def _code(told: JsonObject) -> int:
    code = told.get("code")
    return code if isinstance(code, int) and not isinstance(code, bool) else 0
