"""From a message to the calls of Slack's Web API that bring it; pure."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, assert_never
from urllib.parse import urlsplit

from postroom.channels.shared import before_files, check_text, edited, emoji_of, one_line, token_of, web_links
from postroom.channels.slack.web_api import (
    DELETE,
    DELETE_FILE,
    EVENT_TYPE,
    FILE_ID,
    POST,
    PUBLISH,
    REACT,
    SHARED,
    UPDATE,
    SlackCall,
    address,
    is_message_id,
)
from postroom.kernel.http.answers import JsonBody
from postroom.kernel.text.rich import (
    RichText,
    SpanStyle,
    TextSpan,
    cut,
    fitting,
    is_single,
    marked,
    readable,
    runs,
    says_target,
    split,
    utf16_length,
    with_mark,
)
from postroom.kernel.values.errors import ValidationError
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import REPEAT_MARK, Format, Intent, Message
from postroom.message.markup import Button, ButtonStyle, Markup, Revision

_SENT_ID = re.compile(r"\d{1,12}(\.\d{1,6})?", re.ASCII)
_NO_PREVIEWS: Final = {"unfurl_links": False, "unfurl_media": False}
_NO_MARKUP: Final = {"mrkdwn": False, "parse": "none", "link_names": False}


def marking_key(bot_token: str) -> bytes:
    """Other apps may read what is hung on a message, so it is a hash that only the holder of the token can make."""
    return hmac.digest(bot_token.encode(), b"postroom: marks of slack messages", hashlib.sha256)


def build(message: Message, key: bytes) -> Sequence[SlackCall]:
    if message.revises is not None:
        check_text(message)
        return _edits(message, message.revises, key)
    match message.intent:
        case Intent.SEND:
            return _posts(message, key, {})
        case Intent.REPLY:
            return _posts(message, key, {"thread_ts": _thread(message)})
        case Intent.REACT:
            return (_reaction(message),)
        case _:
            assert_never(message.intent)


def _posts(message: Message, key: bytes, where: JsonBody) -> Sequence[SlackCall]:
    """
    Buttons stand under the last text; the files come after it in one message, which says a text that has room there.

    The text goes as blocks: Slack would read looks and mentions into a comment.
    """
    check_text(message)
    to = {"channel": _address(message)} | where
    bodies = _bodies(message, key, to, before_files(message, lambda marked: _parts(message, repeated=marked)))
    actions = _actions(message.markup)
    if message.attachments and len(bodies) == 1 and not actions:
        repeated = message.repeated and bodies[0]["text"] == _parts(message, repeated=False)[0]["text"]
        bodies[0]["blocks"] += [section(REPEAT_MARK)] if repeated else []
        return _share(message, bodies[0])
    bodies[-1]["blocks"] += actions
    posts = [SlackCall(method=POST, body=body) for body in bodies]
    return (*posts, *_share(message, to | ({"initial_comment": REPEAT_MARK} if message.repeated else {})))


def _bodies(message: Message, key: bytes, to: JsonBody, texts: list[JsonBody]) -> list[JsonBody]:
    return [
        to | shown | _NO_MARKUP | _NO_PREVIEWS | _marked(key, message.delivery_id, number)
        for number, shown in enumerate(texts)
    ]


def _share(message: Message, body: JsonBody) -> Sequence[SlackCall]:
    """As many parts as there are files, for each has a name of its own."""
    if not message.attachments:
        return ()
    shared = SlackCall(method=PUBLISH, body={"channel": body["channel"]}, shared=True)
    return (SlackCall(method=PUBLISH, body=body, files=message.attachments), *[shared] * (len(message.attachments) - 1))


def _edits(message: Message, revises: Revision, key: bytes) -> Sequence[SlackCall]:
    """A text that needs more messages than stand there goes on in answers to the first."""
    channel = revises.conversation or _address(message)
    if revises.deletes:
        with_text = revises.worded[:1] if revises.files >= len(revises.provider_ids) else ()
        named = [one for one in revises.standing if not one.startswith(SHARED)]
        return tuple(_deletion(one, channel, is_message=one in with_text) for one in named)
    if message.markup is not None and message.markup.force_reply:
        raise ValidationError("an edit cannot ask for a reply")
    under, stamps = _actions(message.markup), _stamps(revises)
    if not message.text:
        body = {"channel": channel, "ts": stamps[-1], "blocks": under}
        return (SlackCall(method=UPDATE, body=body, keeps_text=True),)
    texts = _parts(message, repeated=message.repeated)
    texts[-1]["blocks"] += under
    changed = [
        SlackCall(method=UPDATE, body={"channel": channel, "ts": stamp, "parse": "none"} | shown)
        for stamp, shown in zip(stamps, texts, strict=False)
    ]
    surplus = [_deletion(one, channel) for one in stamps[len(texts) :]]
    added = _bodies(message, key, {"channel": channel, "thread_ts": stamps[0]}, texts[len(stamps) :])
    return edited(changed, surplus, [SlackCall(method=POST, body=body) for body in added])


def _deletion(sent_id: str, place: str, *, is_message: bool = False) -> SlackCall:
    """A file of which Slack did not say in which message it stands is deleted itself, unless words stand there, too."""
    if sent_id.startswith(FILE_ID) and not is_message:
        return SlackCall(method=DELETE_FILE, body={"file": sent_id.removeprefix(FILE_ID)})
    return SlackCall(method=DELETE, body={"channel": place, "ts": _stamp(sent_id)})


def _reaction(message: Message) -> SlackCall:
    name = name_of(emoji_of(message, is_single))
    body = {"channel": _address(message), "timestamp": _thread(message), "name": name}
    return SlackCall(method=REACT, body=body)


def _parts(message: Message, *, repeated: bool) -> list[JsonBody]:
    if message.format is Format.MARKDOWN:
        rich = rich_parts(web_links(message.text), repeated=repeated)
        return [_shown(readable(part), rich_block(part)) for part in rich]
    return [_shown(piece, section(piece)) for piece in plain_parts(message.text, repeated=repeated)]


def _shown(words: str, block: JsonBody) -> JsonBody:
    """The block is what people see; `text` is for notifications and screen readers, and says as much."""
    return {"text": escaped(words), "blocks": [block]}


def _marked(key: bytes, delivery_id: DeliveryId, part: int) -> JsonBody:
    mark = hmac.new(key, f"{delivery_id}:{part}".encode(), hashlib.sha256).hexdigest()[:32]
    return {"metadata": {"event_type": EVENT_TYPE, "event_payload": {"mark": mark}}}


def _address(message: Message) -> str:
    canonical = address(message.address)
    if canonical is None:
        raise ValidationError("recipient is no Slack id of a person (U…), a channel (C…) or a direct message (D…)")
    return canonical


def _thread(message: Message) -> str:
    if message.thread is None or not is_message_id(message.thread):
        raise ValidationError("the Slack message to answer must be named by its ts, such as 1700000000.000100")
    return message.thread


def _stamps(revises: Revision) -> list[str]:
    """Of the texts: the files came after them, and have nothing to edit."""
    if not revises.worded:
        raise ValidationError("only a Slack message can be edited")
    return [_stamp(one) for one in revises.worded]


def _stamp(sent_id: str) -> str:
    """Or a file, by which the message with its words is found when it is to be changed."""
    if not _SENT_ID.fullmatch(sent_id) and not sent_id.startswith(FILE_ID):
        raise ValidationError("only a Slack message can be edited")
    return sent_id


# Text as Slack wants it written, in parts that Slack shows whole; and what a person typed, as they typed it.

PART_LIMIT: Final = 3000  # of one text object, counted as it is written

_MARKED_UP = re.compile(r"<([^<>]*)>")
_EMOJI = re.compile(r":([a-z0-9_+'-]{1,60}):")
_ENTITIES: Final = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))  # the ampersand last: it begins the others


def escaped(text: str) -> str:
    """All that Slack reads as more than a character: without these no mention, link or date can be written."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _written_length(text: str) -> int:
    return utf16_length(escaped(text))


def plain_parts(text: str, *, repeated: bool = False) -> list[str]:
    """In order, cut at paragraph, line or word; each fits even after escaping."""
    parts = split(text, PART_LIMIT, _written_length)
    return marked(parts, REPEAT_MARK, PART_LIMIT, _written_length) if repeated else parts


def shortened(text: str, limit: int) -> str:
    """Escaped, and at most so long."""
    tries = (escaped(cut(text, length)) for length in range(limit, 0, -1))
    return next(written for written in tries if utf16_length(written) <= limit)


def typed(text: str, bot: str | None = None) -> str:
    """
    What a person wrote, without what Slack made of it: links in brackets, entities, names of emoji.

    `bot` is our own user: an answer in a channel begins with its name, which is not part of the answer.
    """
    if bot is not None and text.lstrip().startswith(f"<@{bot}>"):
        text = text.lstrip().removeprefix(f"<@{bot}>").lstrip(" ,:")
    text = _EMOJI.sub(lambda found: character_of(found[1]) or found[0], _MARKED_UP.sub(_text_shown, text))
    for entity, character in _ENTITIES:
        text = text.replace(entity, character)
    return text


def _text_shown(found: re.Match[str]) -> str:
    target, _, label = found[1].partition("|")
    sign, name = target[:1], label or target[1:]
    if sign == "#":
        return f"#{name}"
    if sign in ("@", "!"):
        return name if name.startswith("@") else f"@{name}"
    return label or target


# Markdown for Slack: `rich_text` blocks, in which a text is only ever text and nothing links but what we link.

LONGEST_BLOCK: Final = 12_000  # as JSON; Slack refuses the blocks of a message somewhere above 13,000
_LOOKS: Final = {
    SpanStyle.BOLD: "bold",
    SpanStyle.HEADING: "bold",
    SpanStyle.ITALIC: "italic",
    SpanStyle.STRIKE: "strike",
    SpanStyle.CODE: "code",
}


def rich_parts(rich: RichText, *, repeated: bool = False) -> list[RichText]:
    parts = list(fitting(rich, PART_LIMIT, _fits, _written_length))
    return with_mark(parts, REPEAT_MARK, _fits) if repeated else parts


def rich_block(part: RichText) -> JsonBody:
    """Without the looks where there are too many of them: where links lead, code and quotes matter more."""
    whole = _block(part)
    return whole if _size(whole) <= LONGEST_BLOCK else _block(part.without(lambda span: span.style in _LOOKS))


def _fits(part: RichText) -> bool:
    return _written_length(readable(part)) <= PART_LIMIT and _size(rich_block(part)) <= LONGEST_BLOCK


def _size(block: JsonBody) -> int:
    return len(json.dumps(block, ensure_ascii=False))


def _block(part: RichText) -> JsonBody:
    return {"type": "rich_text", "elements": [_rich_element(kind, piece) for kind, piece in _pieces(part)]}


@dataclass(frozen=True, slots=True)
class _Kind:
    """The code and the quote that a piece stands in."""

    code: TextSpan | None = None
    quote: TextSpan | None = None


def _pieces(part: RichText) -> Iterator[tuple[_Kind, RichText]]:
    """What Slack shows as one block each; the line ends around it are the block's own."""
    place = 0
    for kind, grouped in groupby(runs(part), lambda run: _kind(run[1])):
        end = place + sum(len(text) for text, _ in grouped)
        text = part.text[place:end]
        piece = part.piece(place + len(text) - len(text.lstrip("\n")), place + len(text.rstrip("\n")))
        place = end
        if piece.text.strip():
            yield kind, piece


def _kind(spans: Sequence[TextSpan]) -> _Kind:
    code = next((span for span in spans if span.style is SpanStyle.PRE), None)
    return _Kind(code=code, quote=next((span for span in spans if span.style is SpanStyle.QUOTE), None))


def _rich_element(kind: _Kind, piece: RichText) -> JsonBody:
    """No code stands in a quote here, but it has the line of a quote beside it."""
    if kind.code is not None:
        line = {"border": 1} if kind.quote else {}
        return {"type": "rich_text_preformatted", **line, "elements": [{"type": "text", "text": piece.text}]}
    name = "rich_text_quote" if kind.quote else "rich_text_section"
    return {"type": name, "elements": list(_inline(piece))}


def _inline(piece: RichText) -> Iterator[JsonBody]:
    place = 0
    for text, spans in runs(piece):
        place += len(text)
        looks = {_LOOKS[span.style]: True for span in spans if span.style in _LOOKS}
        style = {"style": looks} if looks else {}
        link = next((span for span in spans if span.style is SpanStyle.LINK), None)
        if link is None:
            yield {"type": "text", "text": text, **style}
            continue
        yield {"type": "link", "url": link.detail, "text": text, **style}
        if link.end == place and (host := _unsaid_host(piece.under(link), link.detail)):
            yield {"type": "text", "text": f" ({host})"}


def _unsaid_host(label: str, target: str) -> str:
    """Shown with every link whose words do not say it already."""
    host = urlsplit(target).hostname or ""
    return "" if says_target(label, target) or label.strip() == host else host


# Blocks: a text without any markup, and the buttons under it.

_MOST_BUTTONS: Final = 25
_LONGEST_LABEL: Final = 75
_LONGEST_TOKEN: Final = 2000
_LONGEST_URL: Final = 3000
_WEB_ADDRESS = re.compile(r"https?://[^\s<>]+")
_STYLES: Final = {ButtonStyle.PRIMARY: "primary", ButtonStyle.SUCCESS: "primary", ButtonStyle.DANGER: "danger"}


def section(text: str) -> JsonBody:
    """
    `plain_text` is what Slack does not format; a message's own `text` it formats whatever `mrkdwn` says.

    `emoji` is about how they are drawn: without it, even a real one is shown by its name.
    """
    return {"type": "section", "text": _plain(escaped(text))}


def _actions(markup: Markup | None) -> list[JsonBody]:
    """Nothing to press: no block, for an empty one is refused. A reply needs no box here, every message has one."""
    buttons = markup.every_button if markup else ()
    if len(buttons) > _MOST_BUTTONS:
        raise ValidationError(f"a Slack message has at most {_MOST_BUTTONS} buttons")
    elements = [_element(number, button) for number, button in enumerate(buttons)]
    return [{"type": "actions", "elements": elements}] if elements else []


def _element(number: int, button: Button) -> JsonBody:
    """`action_id` has to differ from button to button; what was pressed is said by `value`."""
    element = {
        "type": "button",
        "text": _plain(shortened(one_line(button.label), _LONGEST_LABEL)),
        "action_id": f"postroom-{number}",
        **_action(button),
    }
    return element | ({"style": _STYLES[button.style]} if button.style else {})


def _action(button: Button) -> dict[str, str]:
    if button.url is not None:
        if len(button.url) > _LONGEST_URL or not _WEB_ADDRESS.fullmatch(button.url):
            raise ValidationError(f"a Slack button opens a web address of at most {_LONGEST_URL} characters")
        return {"url": button.url}
    return {"value": token_of(button, _LONGEST_TOKEN)}


def _plain(text: str) -> JsonBody:
    return {"type": "plain_text", "text": text, "emoji": True}


# Emoji and what Slack calls them; reactions are named, and so is what people type.

_TABLE: Final = """
👍 +1 👎 -1 👌 ok_hand 👏 clap 🙏 pray 🙌 raised_hands 👋 wave ✋ hand 🤝 handshake 💪 muscle
🤞 crossed_fingers ✌ v 🤙 call_me_hand 👊 facepunch ✊ fist 🤘 the_horns 👈 point_left 👉 point_right
👆 point_up_2 👇 point_down ☝ point_up ✍ writing_hand 🫡 saluting_face 🫶 heart_hands 🤷 shrug
🤦 face_palm 🙋 raising_hand 🏃 runner 👀 eyes 🧠 brain ❤ heart 🧡 orange_heart 💛 yellow_heart
💚 green_heart 💙 blue_heart 💜 purple_heart 🖤 black_heart 🤍 white_heart 💔 broken_heart 💯 100
✨ sparkles ⭐ star 🌟 star2 🔥 fire 🎉 tada 🎊 confetti_ball 🎂 birthday 🎁 gift 🏆 trophy
🥇 first_place_medal 🎯 dart 🚀 rocket 💡 bulb ⚡ zap 💥 boom 💤 zzz 💬 speech_balloon 💭 thought_balloon
📌 pushpin 😀 grinning 😃 smiley 😄 smile 😁 grin 😆 laughing 😅 sweat_smile 😂 joy
🤣 rolling_on_the_floor_laughing 🙂 slightly_smiling_face 🙃 upside_down_face 😉 wink 😊 blush 😇 innocent
🥰 smiling_face_with_3_hearts 😍 heart_eyes 🤩 star-struck 😘 kissing_heart 😋 yum 😎 sunglasses
🤓 nerd_face 🤗 hugging_face 🤔 thinking_face 🤨 face_with_raised_eyebrow 😐 neutral_face
😑 expressionless 🙄 face_with_rolling_eyes 😏 smirk 😬 grimacing 😴 sleeping 😷 mask
🤒 face_with_thermometer 🤯 exploding_head 🥳 partying_face 😕 confused 😟 worried
🙁 slightly_frowning_face 😮 open_mouth 😲 astonished 😳 flushed 🥺 pleading_face 😢 cry 😭 sob 😱 scream
😞 disappointed 😩 weary 😤 triumph 😡 rage 😠 angry 🤬 face_with_symbols_on_mouth 😈 smiling_imp 💀 skull
💩 hankey 🤡 clown_face 👻 ghost 👽 alien 🤖 robot_face 🎃 jack_o_lantern 🙈 see_no_evil 🙉 hear_no_evil
🙊 speak_no_evil 🦄 unicorn_face 🐛 bug 🐢 turtle ☕ coffee 🍺 beer 🍻 beers 🍾 champagne 🍕 pizza 🍰 cake
🍪 cookie 🍎 apple 🌈 rainbow ☀ sunny 🌙 crescent_moon ❄ snowflake ✅ white_check_mark
☑ ballot_box_with_check ✔ heavy_check_mark ❌ x ❎ negative_squared_cross_mark ➕ heavy_plus_sign
➖ heavy_minus_sign ❓ question ❗ exclamation ‼ bangbang ⚠ warning 🚫 no_entry_sign ⛔ no_entry
🛑 octagonal_sign 🔴 red_circle 🟠 large_orange_circle 🟡 large_yellow_circle 🟢 large_green_circle
🔵 large_blue_circle ⏰ alarm_clock ⏳ hourglass_flowing_sand ⌛ hourglass 🔔 bell 🔕 no_bell 🔒 lock
🔓 unlock 🔑 key 🔗 link 📎 paperclip 📅 date 📝 memo 📈 chart_with_upwards_trend
📉 chart_with_downwards_trend 📣 mega 📢 loudspeaker 📧 e-mail 📞 telephone_receiver 📦 package 💰 moneybag
💸 money_with_wings 🛒 shopping_trolley 🔧 wrench 🔨 hammer ⚙ gear 🧪 test_tube 🩹 adhesive_bandage
♻ recycle 🆗 ok 🆘 sos 🆕 new ▶ arrow_forward ⏸ double_vertical_bar ➡ arrow_right ⬅ arrow_left
⬆ arrow_up ⬇ arrow_down 🔄 arrows_counterclockwise 🔁 repeat 🏠 house 🚗 car ✈ airplane 🌍 earth_africa
🌱 seedling 🌹 rose 🫠 melting_face 0⃣ zero 1⃣ one 2⃣ two 3⃣ three 4⃣ four 5⃣ five 6⃣ six 7⃣ seven
8⃣ eight 9⃣ nine 🔟 keycap_ten ✉ email
"""
_NAMES: Final = _TABLE.split()
_BY_CHARACTER: Final = dict(zip(_NAMES[::2], _NAMES[1::2], strict=True))
_BY_NAME: Final = {name: character for character, name in _BY_CHARACTER.items()} | {
    "thumbsup": "👍",
    "thumbsdown": "👎",
    "simple_smile": "🙂",
    "punch": "👊",
    "raised_hand": "✋",
}
_PRESENTATION: Final = "\ufe0f"  # "as a picture": Slack's names make no difference
_LIGHTEST, _DARKEST = "\U0001f3fb", "\U0001f3ff"


def name_of(emoji: str) -> str:
    """Raises ValidationError for one that has no name here."""
    plain = emoji.strip().replace(_PRESENTATION, "")
    tone = plain[-1:] if _LIGHTEST <= plain[-1:] <= _DARKEST else ""
    name = _BY_CHARACTER.get(plain.removesuffix(tone))
    if name is None:
        raise ValidationError("emoji has no name at Slack that we know; take a common one, such as 👍 ✅ ❌ 👀 🎉")
    return f"{name}::skin-tone-{ord(tone) - ord(_LIGHTEST) + 2}" if tone else name


def character_of(name: str) -> str | None:
    return _BY_NAME.get(name)
