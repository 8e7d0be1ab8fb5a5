"""Texts of every kind that people and models write, and what holds for all of them."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any, Final

from hypothesis import HealthCheck, given, settings, strategies

from postroom.kernel.values.errors import ValidationError
from postroom.message.channel import Channel
from postroom.testing.case import Case, Place, message
from postroom.testing.checks import Check, CheckGroup, Look, attempt, check_of, connected, ensure, overhearing
from postroom.testing.servers.http import TakenRequest

# Those that try to be more than text among them.

_MENTIONS: Final = (
    "@everyone",
    "@here",
    "@channel",
    "@ada",
    "<@U024BE7LH>",
    "<@!80351110224678912>",
    "<@&165511591545143296>",
    "<#C024BE7LR>",
    "<!channel>",
    "<!here|here>",
    "<!subteam^SAZ94GDB8>",
    "[ada](tg://user?id=123456789)",
    '<a href="tg://user?id=1">ada</a>',
)
_MARKUP: Final = (
    "*bold*",
    "**bold**",
    "_slanted_",
    "`code`",
    "```\ncode\n```",
    "~struck~",
    "||hidden||",
    "> quoted",
    "# heading",
    "[click](https://evil.example/)",
    "<https://evil.example/|your bank>",
    "<b>bold</b>",
    "<script>alert(1)</script>",
    "&lt;b&gt;",
    "&amp;",
    "{{name}}",
    "${HOME}",
    "%s %(secret)s",
    "\\*",
    "\r\nBcc: eve@example.org",
    "\r\n.\r\n",
    ".",
    "\u202e",
    "👩‍👩‍👧‍👦",
    "é",
    "🏳️‍🌈",
)
_CHARACTERS: Final = strategies.characters(exclude_categories=("Cs", "Cc", "Cn", "Co"), exclude_characters="\ufeff")
_WORDS: Final = strategies.one_of(
    strategies.sampled_from([*_MENTIONS, *_MARKUP]), strategies.text(_CHARACTERS, min_size=1, max_size=12)
)
_GAPS: Final = strategies.sampled_from([" ", "", "\n", "\n\n", "\t"])


def _short_texts() -> strategies.SearchStrategy[str]:
    pieces = strategies.lists(strategies.tuples(_WORDS, _GAPS), min_size=1, max_size=12)
    return pieces.map(_joined).filter(_has_ink)


def _long_texts(characters: int) -> strategies.SearchStrategy[str]:
    """About so many: short ones over and over."""
    lengths = strategies.integers(min_value=1, max_value=characters)
    return strategies.tuples(_short_texts(), lengths).map(_stretched).filter(_has_ink)


def _joined(pieces: list[tuple[str, str]]) -> str:
    return "".join(word + gap for word, gap in pieces)


def _stretched(given: tuple[str, int]) -> str:
    text, length = given
    return (text * (length // len(text) + 1))[:length]


def _has_ink(text: str) -> bool:
    return bool(text.strip())


# What holds for every text and every address, looked for with texts that nobody would think of.

_NOWHERE: Final = Place(port=1)
_UNLIMITED: Final = 4096  # as long as the texts become where there is no limit
_GROWTH: Final = 8  # what escaping may make of one character
_quick: Final = settings(
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    print_blob=False,
)


def _pure(case: Case) -> None:
    first, second = case.connect(_NOWHERE), case.connect(_NOWHERE)

    def look(text: str) -> None:
        asked = message(case, text=text)
        once = _prepared(first, asked.text, case)
        ensure(once == _prepared(first, text, case), "preparing a message twice gives two different things")
        ensure(once == _prepared(second, text, case), "another channel of the same account prepares it otherwise")
        ensure(asked == message(case, text=text), "preparing changes the message")

    _for_each(case, _short_texts(), look)


def _fits(case: Case) -> None:
    channel = case.connect(_NOWHERE)
    most, shown = channel.capabilities.max_units, case.counted or _visible(case)
    if most is None:
        return

    def look(text: str) -> None:
        parts = _prepared(channel, text, case)
        if parts is None:
            ensure(_units(channel, text) > most // _GROWTH, "a text that fits is refused")
            return
        longest = max(_units(channel, shown(part)) for part in parts)
        ensure(longest <= most, f"a part has {longest} units, and {most} are declared")

    _for_each(case, _long_texts(most * 3), look)


def _nothing_lost(case: Case) -> None:
    channel = case.connect(_NOWHERE)
    visible = _visible(case)

    def look(text: str) -> None:
        parts = _prepared(channel, text, case)
        if parts is not None:
            ensure(_ink("".join(map(visible, parts))) == _ink(text), "what a person sees is not what was written")

    _for_each(case, _short_texts(), look)
    _for_each(case, _long_texts((channel.capabilities.max_units or _UNLIMITED) * 3), look)


def _text_is_data(case: Case) -> None:
    channel, mentions = case.connect(_NOWHERE), case.mentions
    if mentions is None:
        raise AssertionError("the Case gives no `mentions`: what in a part would call somebody or be taken for markup")

    def look(text: str) -> None:
        found = [one for part in _prepared(channel, text, case) or () for one in mentions(part)]
        ensure(not found, f"text became more than text: {found}")

    _for_each(case, _short_texts(), look)


def _stable_address(case: Case) -> None:
    channel = case.connect(_NOWHERE)
    looks_like = strategies.sampled_from([case.address, case.not_an_address, case.address.upper(), f" {case.address} "])

    def look(text: str) -> None:
        canonical = channel.address(text)
        if canonical is not None:
            ensure(channel.address(canonical) == canonical, "the canonical form of an address has another one")

    _for_each(case, strategies.one_of(looks_like, _short_texts(), strategies.text(max_size=40)), look)


def _discreet(case: Case) -> None:
    channel = case.connect(_NOWHERE)
    canary = "canary-of-the-message"

    def look(text: str) -> None:
        with overhearing() as heard:
            shown = _shown(channel, f"{canary} {text}", case)
        ensure(canary not in shown, "the repr of a part or a refusal shows the message")
        ensure(canary not in heard.text, "preparing logs the message")

    _for_each(case, _short_texts(), look)


async def _same_again(case: Case) -> None:
    async with case.words.provider() as provider, connected(case, Place(port=provider.port)) as channel:
        part = channel.prepare(message(case))[0]
        for _ in range(2):
            await attempt(channel, part, 10.0)
    ensure(provider.taken == 2, f"the provider got {provider.taken} messages")
    first, second = (_comparable(case, one) for one in provider.messages)
    ensure(first == second, "sending the same part again is another request")


_SENTENCES: Final = MappingProxyType[str, tuple[str, Look]](
    {
        "pure": ("Preparing is pure: the same message gives the same parts, on any channel of the account.", _pure),
        "fits": ("Every part is within `max_units`, escaping included, and what fits is not refused.", _fits),
        "nothing-lost": ("A person sees every visible character, in order, and no other.", _nothing_lost),
        "text-is-data": ("No text calls anybody or becomes markup.", _text_is_data),
        "stable-address": ("The canonical form of an address is its own canonical form.", _stable_address),
        "discreet": ("Neither a repr nor a log shows the message.", _discreet),
        "same-again": ("Sending the same part again is the same request, byte by byte.", _same_again),
    }
)


def properties(case: Case) -> list[Check]:
    return [check_of(case, CheckGroup.PROPERTY, "property", name, *one) for name, one in _SENTENCES.items()]


def _for_each(case: Case, texts: strategies.SearchStrategy[str], look: Callable[[str], None]) -> None:
    settings(_quick, max_examples=case.examples)(given(texts)(look))()


def _prepared(channel: Channel, text: str, case: Case) -> list[Any] | None:
    """None when it is refused."""
    try:
        return list(channel.prepare(message(case, text=text)))
    except ValidationError:
        return None


def _shown(channel: Channel, text: str, case: Case) -> str:
    try:
        return repr(list(channel.prepare(message(case, text=text))))
    except ValidationError as error:
        return "".join((str(error), repr(error), repr(vars(error))))


def _visible(case: Case) -> Callable[[Any], str]:
    if case.visible is None:
        raise AssertionError("the Case gives no `visible`: what a person sees of a part")
    return case.visible


def _units(channel: Channel, text: str) -> int:
    match channel.capabilities.unit:
        case "utf16":
            return len(text.encode("utf-16-le")) // 2
        case "bytes":
            return len(text.encode())
        case _:
            return len(text)


def _ink(text: str) -> str:
    """White space at the edges of a part may go; everything that leaves a mark stays."""
    return "".join(text.split())


def _comparable(case: Case, taken: Any) -> object:
    if not isinstance(taken, TakenRequest):
        return taken
    headers = {name: value for name, value in taken.headers.items() if name not in case.changing_headers}
    return taken.method, taken.path, headers, taken.content
