from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from tests.domain.markdown_texts import inked, markdown

from postroom.domain.delivery import Format, Intent, Message
from postroom.domain.ids import DeliveryId
from postroom.domain.markup import Revision
from postroom.world.channels.discord.building import build
from postroom.world.channels.discord.rich_shown import rich_of, rich_shown_parts, written

READ = re.compile(
    r"""```[A-Za-z0-9+#-]*\n(?P<pre>.*?)\n(?:>[ ])?```
    | `(?P<code>[^`\n]+)`
    | \\(?P<escaped>.)
    | \]\(<[^<>]*>\)[ ]\([^()]*\)
    | \(<[^<>]*>\)
    | <(?P<bare>https?://[^<>]+)>
    | (?P<link>https?://[^\s<>\[\]|\\`"^{}*~]+)
    | \*\* | ~~ | _ | \[
    """,
    re.VERBOSE | re.DOTALL,
)


def seen(text: str) -> str:
    """As a reader of Discord's markup would see it, without the signs of quotes and headings."""
    shown = READ.sub(lambda found: next((one for one in found.groups() if one is not None), ""), text)
    return re.sub("[>#]", "", inked(shown))


def bodies(text: str, **changes: Any) -> list[dict[str, Any]]:
    fields: dict[str, Any] = {"delivery_id": DeliveryId("d1"), "intent": Intent.SEND, "address": "4711"}
    calls = build(Message(**(fields | {"text": text, "format": Format.MARKDOWN} | changes)))
    return [dict(call.body or {}) for call in calls]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("**b** *i* ~~s~~ `c`", "**b** _i_ ~~s~~ `c`"),
        ("# T\n> q\n> r", "# T\n\n> q\n> r"),
        ("#### T", "**T**"),
        ("```py\nx*y\n```", "```py\nx*y\n```"),
        ("[l](https://a.example/x_y_)", "[l](<https://a.example/x_y_>) (a.example)"),
        ("<https://a.example>", "<https://a.example>"),
        ("[https://bank.example](https://evil.example)", "https://bank.example (<https://evil.example>)"),
        ("[a\\](x](https://a.example)", "[a\\](x](<https://a.example>) (a.example)"),
        ("*a*b", "ab"),
        ("- x", "• x"),
        (r"\*no\* @everyone <@1>", r"\*no\* \@everyone \<\@1>"),
    ],
)
def test_spans_are_written_in_its_own_markup_and_the_rest_is_escaped(source: str, text: str) -> None:
    assert written(rich_of(source)) == text


@pytest.mark.requirement("content:nothing-lost", "content:no-injection")
@settings(deadline=None)  # a machine may be busy
@given(markdown)
def test_nothing_visible_is_lost_and_every_part_fits(source: str) -> None:
    rich = rich_of(source)
    parts = rich_shown_parts(rich)

    assert all(len(part.encode("utf-16-le")) // 2 <= 2000 for part in parts)
    assert "".join(map(seen, parts)) == re.sub("[>#]", "", inked(rich.text))


def test_a_message_full_of_links_is_cut_until_it_fits() -> None:
    source = " ".join(f"[l](https://a.example/{'x' * 900}{number})" for number in range(8))

    parts = [body["content"] for body in bodies(source)]
    assert all(len(part) <= 2000 for part in parts)
    assert all(f"{'x' * 900}{number}" in "".join(parts) for number in range(8))


def test_mentions_and_previews_stay_off_and_edits_are_written_so_too() -> None:
    (sent,) = bodies("**b** @everyone")
    assert (sent["allowed_mentions"]["parse"], sent["flags"]) == ([], 4)

    revises = Revision(delivery_id=DeliveryId("d0"), provider_ids=("7", "8"))
    last, first = bodies("**b** " + "word " * 500, revises=revises)
    assert (first["content"][:5], last["content"][:4]) == ("**b**", "word")
