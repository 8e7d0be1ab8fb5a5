from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.channels.discord.as_shown import markup
from tests.channels.discord.as_shown import seen as as_shown_seen
from tests.channels.recording_server import Seen, recording
from tests.support.markdown_texts import inked, markdown

from postroom.channels.discord.building import (
    TEXT_LIMIT,
    DiscordRequest,
    address,
    build,
    components,
    escaped,
    inner_words,
    made_at_us,
    nonce,
    read_refusal,
    receipt_of,
    rich_shown_parts,
    shown_beginning,
    written,
)
from postroom.channels.discord.channel import Discord
from postroom.channels.shared import web_links
from postroom.kernel.http.call import HttpAnswer
from postroom.kernel.text.rich import utf16_length
from postroom.kernel.values.errors import CredentialsRefused, PostroomError, ProviderThrottled, ValidationError
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import REPEAT_MARK, Format, Intent, Message, Receipt, ReceiptKind
from postroom.message.markup import Button, ButtonStyle, Markup, Revision
from postroom.testing.case import HeldFiles

CARD = Markup(buttons=((Button(label="Yes", token="q1:yes"), Button(label="No", token="q1:no")),))


def made(**changes: Any) -> tuple[DiscordRequest, ...]:
    given: dict[str, Any] = {"delivery_id": DeliveryId("d1"), "intent": Intent.SEND, "address": "42", "text": "Tea?"}
    return tuple(build(Message(**(given | changes))))


def bodies(**changes: Any) -> list[dict[str, Any]]:
    return [dict(one.body or {}) for one in made(**changes)]


def test_a_message_pings_no_one_shows_no_preview_and_has_a_key() -> None:
    [request] = made()

    assert (request.method, request.place, request.path) == ("POST", "42", "messages")
    assert request.body == {
        "content": "Tea?",
        "flags": 4,
        "allowed_mentions": {"parse": [], "replied_user": False},
        "nonce": nonce(DeliveryId("d1"), 0),
        "enforce_nonce": True,
    }


@pytest.mark.requirement("house:discord-key")
def test_every_part_has_one_key_for_all_its_attempts() -> None:
    text = "word " * 1000
    keys = [body["nonce"] for body in bodies(text=text)]

    assert keys == [body["nonce"] for body in bodies(text=text)]
    assert len(set(keys)) == len(keys) == 3
    assert all(0 < len(key) <= 25 and key.isascii() for key in keys)
    assert not set(keys) & {body["nonce"] for body in bodies(text=text, delivery_id=DeliveryId("d2"))}
    assert keys == [body["nonce"] for body in bodies(text=text, repeated=True)][: len(keys)]


def test_a_reply_names_its_message_once_and_buttons_stand_under_the_last_part() -> None:
    first, *_, last = bodies(text="word " * 1000, intent=Intent.REPLY, thread="77", markup=CARD)

    assert first["message_reference"] == {"message_id": "77", "fail_if_not_exists": False}
    assert "components" not in first and "message_reference" not in last
    assert [key["custom_id"] for key in last["components"][0]["components"]] == ["q1:yes", "q1:no"]


def test_a_link_that_fits_no_button_stands_below_the_text() -> None:
    [body] = bodies(markup=Markup(buttons=((Button(label="Open", url="http://localhost:1/x_y"),),)))

    assert body["content"] == "Tea?\n\nOpen: http://localhost:1/x_y"
    assert "components" not in body


@pytest.mark.parametrize(("emoji", "path"), [("👍", "%F0%9F%91%8D"), ("party:123", "party%3A123")])
def test_a_reaction_is_one_emoji(emoji: str, path: str) -> None:
    [request] = made(intent=Intent.REACT, thread="77", emoji=emoji, text="")

    assert (request.method, request.path) == ("PUT", f"messages/77/reactions/{path}/@me")
    assert receipt_of(request, "42", "77") == Receipt.of_change(ReceiptKind.REACTION, "42", "77", "42")


@pytest.mark.parametrize("emoji", ["", "ab", "👍👍", "../../x", "a:b"])
def test_what_is_no_emoji_is_refused(emoji: str) -> None:
    with pytest.raises(ValidationError, match="emoji"):
        made(intent=Intent.REACT, thread="77", emoji=emoji, text="")


@pytest.mark.parametrize("thread", [None, "", "0", "x", "42:77"])
def test_a_reply_needs_the_number_of_a_message(thread: str | None) -> None:
    with pytest.raises(ValidationError, match="number"):
        made(intent=Intent.REPLY, thread=thread)


def revision(*ids: str, conversation: str | None = None) -> Revision:
    return Revision(delivery_id=DeliveryId("d0"), provider_ids=ids, conversation=conversation)


def test_an_edit_goes_to_where_the_message_stands_last_part_first() -> None:
    requests = made(address="user:7", text="word " * 600, revises=revision("1", "2", conversation="55"))

    assert [(one.method, one.place, one.path) for one in requests] == [
        ("PATCH", "55", "messages/2"),
        ("PATCH", "55", "messages/1"),
    ]
    assert (requests[0].body or {})["components"] == []
    assert "components" not in (requests[1].body or {})
    assert all((one.body or {})["allowed_mentions"]["parse"] == [] for one in requests)
    assert receipt_of(requests[0], "55", "2").provider_id == "edit:55:2"


def acts(*given: str, text: str, **revised: Any) -> list[tuple[str, str]]:
    revises = replace(revision(*given), **revised)
    return [(one.method, one.path.removeprefix("messages/")) for one in made(text=text, revises=revises)]


def test_a_longer_text_goes_on_in_answers_to_the_first_message_with_the_buttons_under_the_last() -> None:
    edit, *answers = made(text="word " * 1000, markup=CARD, revises=revision("1"))

    assert (edit.method, edit.path, "components" in (edit.body or {})) == ("PATCH", "messages/1", False)
    bodies = [one.body or {} for one in answers]
    assert [one.method for one in answers] == ["POST"] * 2
    assert [one["message_reference"]["message_id"] for one in bodies] == ["1", "1"]
    assert ["components" in one for one in bodies] == [False, True]
    assert bodies[0]["nonce"] != bodies[1]["nonce"]
    assert receipt_of(answers[0], "55", "9").provider_id == "9"


def test_a_shorter_text_deletes_what_it_needs_no_more_but_never_the_message_with_the_files() -> None:
    assert acts("1", "2", "3", text="Closed") == [("DELETE", "3"), ("PATCH", "1"), ("DELETE", "2")]
    assert acts("1", "2", text="Closed", files=1) == [("PATCH", "2"), ("DELETE", "1")]
    assert acts("1", text="Closed", more=("2",)) == [("DELETE", "2"), ("PATCH", "1")]
    assert acts("1", "2", text="word " * 600, gone=("2",), more=("3",)) == [("PATCH", "3"), ("PATCH", "1")]


def test_an_edit_without_words_changes_the_buttons_alone() -> None:
    [request] = made(text="", markup=CARD, revises=revision("1", "2"))

    assert request.path == "messages/2"
    assert "content" not in (request.body or {}) and len((request.body or {})["components"]) == 1


def test_an_edit_of_nothing_is_refused() -> None:
    with pytest.raises(ValidationError):
        made(revises=revision())


def buttons(*rows: int) -> Markup:
    counted = iter(range(1000))
    return Markup(
        buttons=tuple(tuple(Button(label="x", token=f"t{next(counted)}") for _ in range(many)) for many in rows)
    )


def shape(markup: Markup) -> list[int]:
    return [len(row["components"]) for row in components(markup)]


@pytest.mark.parametrize(
    ("rows", "shown"),
    [([1, 2], [1, 2]), ([7], [5, 2]), ([1] * 6, [5, 1]), ([25], [5] * 5), ([3] * 8, [5, 5, 5, 5, 4]), ([0, 1], [1])],
    ids=str,
)
def test_rows_are_kept_while_they_fit(rows: list[int], shown: list[int]) -> None:
    assert shape(buttons(*rows)) == shown


def test_a_key_has_a_style_a_label_and_what_it_says() -> None:
    markup = Markup(
        buttons=(
            (
                Button(label="Yes\nplease", token="a", style=ButtonStyle.SUCCESS),
                Button(label="No", token="b", style=ButtonStyle.DANGER),
                Button(label="Go", token="c", style=ButtonStyle.PRIMARY),
                Button(label="L" * 90, token="d"),
                Button(label="Open", url="https://home.example/x"),
            ),
        )
    )

    [row] = components(markup)

    assert row["type"] == 1
    assert [(key["label"], key["style"], key.get("custom_id"), key.get("url")) for key in row["components"]] == [
        ("Yes please", 3, "a", None),
        ("No", 4, "b", None),
        ("Go", 1, "c", None),
        ("L" * 79 + "…", 2, "d", None),
        ("Open", 5, None, "https://home.example/x"),
    ]


@pytest.mark.parametrize("token", ["t" * 101, "", "\ud800"])
def test_a_token_discord_would_refuse_is_refused_before(token: str) -> None:
    with pytest.raises(ValidationError, match="token"):
        components(Markup(buttons=((Button(label="x", token=token),),)))


@pytest.mark.parametrize("url", ["https://home.example/" + "x" * 512, "ftp://home.example", "http://localhost/x"])
def test_a_link_discord_would_refuse_is_no_button(url: str) -> None:
    assert components(Markup(buttons=((Button(label="x", url=url),),))) == []


FILES = HeldFiles()
PNG = FILES.hold("bild.png", b"\x89PNG\r\n\r\n", "image/png")
LOG = FILES.hold('Prüf "lauf".log', b"one\n", "text/plain")


def message(**changes: Any) -> Message:
    fields: dict[str, Any] = {"delivery_id": DeliveryId("d1"), "intent": Intent.SEND, "address": "1000"}
    return Message(**(fields | {"text": "the report", "attachments": (PNG, LOG)} | changes))


async def sent(given: Message, answer: tuple[int, Any] = (200, {"id": "77"}), tries: int = 1) -> list[Seen]:
    async with recording(lambda seen: answer) as server:
        channel = Discord("discord", "a.b.c", server.url, files=FILES)
        try:
            for part in channel.prepare(given):
                for _ in range(tries):
                    await channel.send(part, 10.0)
        finally:
            await channel.close()
    return server.seen


@pytest.mark.requirement("content:discord-files")
async def test_the_message_and_its_files_are_one_request() -> None:
    [one] = await sent(message(repeated=True))

    told = json.loads(one.fields["payload_json"])
    assert told["content"].startswith("the report") and REPEAT_MARK.strip("()") in told["content"]
    assert told["attachments"] == [{"id": 0, "filename": PNG.name}, {"id": 1, "filename": LOG.name}]
    assert told["enforce_nonce"] is True and told["allowed_mentions"]["parse"] == []
    assert {name: (file.name, file.media_type, file.content) for name, file in one.files.items()} == {
        "files[0]": (PNG.name, "image/png", b"\x89PNG\r\n\r\n"),
        "files[1]": (LOG.name, "text/plain", b"one\n"),
    }
    assert one.headers["Authorization"] == "Bot a.b.c"


async def test_they_stand_under_the_last_part_of_a_long_text() -> None:
    first, last = await sent(message(text="word " * 600))

    assert "attachments" not in first.json
    assert list(last.files) == ["files[0]", "files[1]"]


async def test_too_large_is_said_plainly() -> None:
    with pytest.raises(ValidationError, match="too large"):
        await sent(message(), (413, {"code": 40005, "message": "Request entity too large"}))


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("290926798999357250", "290926798999357250"),
        (" 42 ", "42"),
        ("0042", "42"),
        ("user:80351110224678912", "user:80351110224678912"),
        ("USER:7", "user:7"),
        ("user:007", "user:7"),
        (str(2**64 - 1), str(2**64 - 1)),
    ],
)
def test_a_place_has_one_spelling(text: str, canonical: str) -> None:
    assert address(text) == canonical
    assert address(canonical) == canonical


@pytest.mark.parametrize(
    "text",
    ["", "0", "user:", "user:0", "user:x", "user:1:2", "role:7", "-1", "#general", "@ada", "１２", str(2**64), "1 2"],
)
def test_anything_else_is_no_place(text: str) -> None:
    assert address(text) is None


def test_a_number_tells_when_it_was_given() -> None:
    assert made_at_us("175928847299117063") == 1_462_015_105_796_000  # the example of Discord's reference


NOW = datetime(2026, 3, 1, tzinfo=UTC)


def read(status: int, code: int | None = None, words: str = "", **told: Any) -> PostroomError:
    body = ({"code": code} if code is not None else {}) | told
    return read_refusal(HttpAnswer(status=status, body=json.dumps(body).encode()), words, NOW)


@pytest.mark.parametrize(
    ("status", "code", "kind", "said"),
    [
        (401, 0, CredentialsRefused, "does not accept our bot token"),
        (403, 50014, CredentialsRefused, "does not accept our bot token"),
        (403, 50007, ValidationError, "takes no direct messages"),
        (403, 50278, ValidationError, "shares no Discord server"),
        (404, 10003, ValidationError, "no such channel"),
        (403, 50001, ValidationError, "cannot see this"),
        (403, 50013, ValidationError, "lacks the right"),
        (404, 10008, ValidationError, "is gone"),
        (400, 240000, ValidationError, "harmful links"),
        (403, 20016, ProviderThrottled, "slow mode"),
        (403, 40003, ProviderThrottled, "direct messages too fast"),
        (400, 50083, ValidationError, "archived"),
        (404, 424242, ValidationError, "Discord answered 404"),
    ],
)
@pytest.mark.requirement("house:discord-refusals")
def test_a_refusal_has_its_own_sentence(status: int, code: int, kind: type[PostroomError], said: str) -> None:
    error = read(status, code)

    assert type(error) is kind
    assert said in error.message


def test_the_whole_bots_limit_is_said() -> None:
    assert "no requests at all" in read(429, retry_after=3.5, **{"global": True}).message


def test_a_form_error_says_what_is_wrong_with_which_field() -> None:
    errors = {"components": {"0": {"components": {"1": {"url": {"_errors": [{"code": "X", "message": "not a URL"}]}}}}}}

    assert inner_words({"message": "Invalid Form Body", "errors": errors}) == "components.0.components.1.url: not a URL"


@pytest.mark.parametrize("errors", [None, {}, [], {"a": {"_errors": []}}, {"a": 1}, {"_errors": ["x"]}])
def test_odd_form_errors_are_no_trouble(errors: object) -> None:
    assert inner_words({"message": "Invalid Form Body", "errors": errors}) == "Invalid Form Body"


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


def rich_shown_bodies(text: str, **changes: Any) -> list[dict[str, Any]]:
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
    assert written(web_links(source)) == text


@pytest.mark.requirement("content:nothing-lost", "content:no-injection")
@settings(deadline=None)  # a machine may be busy
@given(markdown)
def test_nothing_visible_is_lost_and_every_part_fits(source: str) -> None:
    rich = web_links(source)
    parts = rich_shown_parts(rich)

    assert all(len(part.encode("utf-16-le")) // 2 <= 2000 for part in parts)
    assert "".join(map(seen, parts)) == re.sub("[>#]", "", inked(rich.text))


def test_a_message_full_of_links_is_cut_until_it_fits() -> None:
    source = " ".join(f"[l](https://a.example/{'x' * 900}{number})" for number in range(8))

    parts = [body["content"] for body in rich_shown_bodies(source)]
    assert all(len(part) <= 2000 for part in parts)
    assert all(f"{'x' * 900}{number}" in "".join(parts) for number in range(8))


def test_mentions_and_previews_stay_off_and_edits_are_written_so_too() -> None:
    (sent,) = rich_shown_bodies("**b** @everyone")
    assert (sent["allowed_mentions"]["parse"], sent["flags"]) == ([], 4)

    revises = Revision(delivery_id=DeliveryId("d0"), provider_ids=("7", "8"))
    last, first = rich_shown_bodies("**b** " + "word " * 500, revises=revises)
    assert (first["content"][:5], last["content"][:4]) == ("**b**", "word")


links = st.text(alphabet=st.sampled_from("ab<[]()|\\*_`.:@ \ufeff"), max_size=12).map("https://a".__add__)
texts = st.text(alphabet=st.sampled_from("ab1 \n\\*_~|`<>[]()@#+-.:!é😀"), max_size=60)


@pytest.mark.requirement("house:discord-text")
@given(texts)
def test_exactly_the_text_is_seen_and_nothing_in_it_is_markup(text: str) -> None:
    assert as_shown_seen(escaped(text)) == text
    assert markup(escaped(text)) == []


@pytest.mark.requirement("house:discord-text")
@given(st.lists(links, max_size=4).map("".join))
def test_links_of_any_kind_are_seen_as_they_are_but_for_a_space_at_their_end(text: str) -> None:
    assert "".join(as_shown_seen(escaped(text)).split()) == "".join(text.split())
    assert markup(escaped(text)) == []


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("*a* _b_ ~~c~~ ||d|| `e`", r"\*a\* \_b\_ \~\~c\~\~ \|\|d\|\| \`e\`"),
        ("@everyone <@1> <@&2> <#3> <t:0>", r"\@everyone \<\@1> \<\@&2> \<#3> \<t:0>"),
        ("[bank](https://evil.example)", r"\[bank](https://evil.example)"),
        (
            "# big\n> quote\n- point\n  + more\n-# small\n1. one",
            "\\# big\n\\> quote\n\\- point\n  \\+ more\n\\-# small\n1\\. one",
        ),
        ("a - b > c # d 1. e", "a - b > c # d 1. e"),
        (":wave: at 12:30", r"\:wave: at 12:30"),
        ("C:\\dir\\_x", r"C:\\dir\\\_x"),
        ("see https://a.example/some_long_path*x and a_b", r"see https://a.example/some_long_path*x and a\_b"),
        ("https://a.example/x[y](https://evil.example)", "https://a.example/x[y](https://evil.example)"),
        ("https://a.example/|our\\*page and ||a||", "https://a.example/|our\\*page and \\|\\|a\\|\\|"),
        ("https://a.example<t:0> https://a.example.<#3>", r"https://a.example \<t:0> https://a.example. \<#3>"),
        ("https://a.example\ufeff*b*", "https://a.example\ufeff\\*b\\*"),
    ],
)
def test_marks_are_escaped_and_links_stay_whole(text: str, content: str) -> None:
    assert escaped(text) == content
    assert markup(content) == []


def test_words_for_one_who_pressed_are_cut_to_one_message() -> None:
    assert shown_beginning("") == ""
    assert shown_beginning("a_b") == r"a\_b"
    assert utf16_length(shown_beginning("*" * 5000)) <= TEXT_LIMIT
