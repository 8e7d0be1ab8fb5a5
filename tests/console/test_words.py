"""How figures, moments, states, texts and links are said on a page."""

from __future__ import annotations

from enum import StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.attention.model import NoticeState
from postroom.console.visit import Templates
from postroom.console.words import (
    FILTERS,
    STATES,
    Piece,
    amount,
    figure,
    formatted,
    full_time,
    link_parts,
    milliseconds,
    percent,
    pieces,
    plural,
    safe_link,
    shown_links,
    state_tone,
    state_word,
    state_words,
    told_in,
)
from postroom.delivery.reading.counts import MOST_COUNTED
from postroom.delivery.rules.breaker import CircuitState
from postroom.kernel.text.visible import findings
from postroom.message.delivery import AttemptResult, Status
from postroom.message.outgoing import known_as
from postroom.questions.model import QuestionStatus

# -- How figures, moments and states are said --


@pytest.mark.parametrize("kind", [Status, AttemptResult, CircuitState, QuestionStatus, NoticeState])
def test_every_state_has_a_word_and_a_tone(kind: type[StrEnum]) -> None:
    assert all(word and tone != "plain" for word, tone in map(state_words, kind))


def test_a_state_of_two_things_is_said_of_each_in_its_own_words() -> None:
    assert (state_word(QuestionStatus.OPEN), state_word(CircuitState.OPEN)) == ("Open", "Paused after failures")


def test_no_state_is_said_in_the_words_of_machinery() -> None:
    assert not [word for word, _ in STATES.values() if "circuit" in word.lower() or "_" in word]


def test_a_state_nobody_knows_is_still_readable() -> None:
    assert (state_word("half_baked"), state_tone("half_baked")) == ("Half baked", "plain")


@pytest.mark.parametrize(
    ("value", "said"),
    [(None, "not available"), (0, "0"), (1234, "1,234"), (MOST_COUNTED + 1, f"more than {MOST_COUNTED:,}")],
)
def test_a_missing_figure_is_never_a_zero(value: int | None, said: str) -> None:
    assert figure(value) == said


def test_a_figure_above_what_was_counted_says_so() -> None:
    assert (figure(1000, 1000), figure(1001, 1000)) == ("1,000", "more than 1,000")


@pytest.mark.parametrize(
    ("value", "said"),
    [(None, "–"), (1.0, "100 %"), (0.0, "0 %"), (0.99999, "99.9 %"), (0.00001, "0.1 %"), (0.5, "50 %")],
)
def test_a_share_is_rounded_to_neither_end(value: float | None, said: str) -> None:
    assert percent(value) == said


@pytest.mark.parametrize(
    ("value", "said"), [(None, "–"), (1.26, "1.3 ms"), (12.4, "12 ms"), (1500.0, "1.5 s"), (999.7, "1000 ms")]
)
def test_a_latency_has_as_many_digits_as_it_needs(value: float | None, said: str) -> None:
    assert milliseconds(value) == said


def test_amounts_moments_and_numbers() -> None:
    assert (amount(20.0), amount(19.55), amount(1_000_000)) == ("20", "19.6", "1,000,000")
    assert full_time(1_767_268_805_000_000) == full_time("2026-01-01T12:00:05Z") == "1 Jan 2026, 12:00:05 UTC"
    with told_in("Europe/Vienna"):
        assert full_time("2026-01-01T12:00:05Z") == "1 Jan 2026, 13:00:05 CET"
    assert (plural(1, "reply", "replies"), plural(2, "reply", "replies"), plural(0, "day")) == (
        "reply",
        "replies",
        "days",
    )


def test_who_speaks_is_said_by_name_and_parts_of_the_household_as_the_household() -> None:
    names = ["health", "butler:health", "agent://butler/health", "program:ci", "connector:chatgpt"]
    assert [known_as(one) for one in names] == ["health", "health", "health", "ci", "chatgpt"]
    assert {known_as(one) for one in ("operator", "system:approvals", "questions", "inbox")} == {"Your household"}


# -- Markdown on a page: nothing of it can be followed or run --


@pytest.mark.requirement("content:links-in-approvals", "content:no-injection")
def test_a_message_is_shown_as_it_will_look_with_its_links_apart() -> None:
    source = "# T\n\n**b** [bank.example](https://evil.example) <script>x</script>"

    assert (
        formatted(source)
        == "<strong>T</strong><br>\n<br>\n<strong>b</strong> bank.example &lt;script&gt;x&lt;/script&gt;"
    )
    (link,) = shown_links(source)
    assert (link.target, link.misleading) == ("https://evil.example", True)


def test_the_pages_know_both() -> None:
    assert (FILTERS["formatted"], FILTERS["shown_links"]) == (formatted, shown_links)


# -- Text in pieces: nothing is lost, and nothing that hides reaches the page as itself --


def test_plain_text_is_one_piece() -> None:
    assert pieces("Hello, world") == [Piece("Hello, world")]
    assert pieces("") == []


def test_a_hidden_character_stands_by_its_name_and_a_look_alike_beside_it() -> None:
    assert pieces("a\u202eb p\u0430y") == [
        Piece("a"),
        Piece("", "U+202E RIGHT-TO-LEFT OVERRIDE"),
        Piece("b p"),
        Piece("\u0430", "U+0430 CYRILLIC SMALL LETTER A"),
        Piece("y"),
    ]


@given(st.text(alphabet=st.sampled_from("ab \n\u202e\u200b\u0430\u2066\u00ad👍")))
def test_every_finding_is_named_and_the_rest_is_untouched(text: str) -> None:
    shown = pieces(text)

    assert [one.name for one in shown if one.name] == [found.name for found in findings(text)]
    hidden = {found.position for found in findings(text)}
    assert "".join(one.text for one in shown if not one.name) == "".join(
        letter for place, letter in enumerate(text) if place not in hidden
    )


# -- Which links of a message may be followed, and where each says that it leads --


FOLLOWED = {
    "a page": ("https://example.org/a?b=c#d", "https://example.org/a?b=c#d", "example.org", False),
    "in capitals": ("HTTPS://EXAMPLE.org/A", "https://example.org/A", "example.org", False),
    "with a port": ("http://example.org:8080/", "http://example.org:8080/", "example.org", False),
    "one label": ("http://router/", "http://router/", "router", False),
    "an IPv4 address": ("http://192.168.0.1/x", "http://192.168.0.1/x", "192.168.0.1", False),
    "an IPv6 address": ("http://[::1]:80/", "http://[::1]:80/", "[::1]", False),
    "letters of a path": ("https://example.org/ü", "https://example.org/ü", "example.org", False),
    "an @ in the path": ("https://example.org/@ann", "https://example.org/@ann", "example.org", False),
    "a host in other letters": (
        "https://аррӏе.com/x",
        "https://xn--80ak6aa92e.com/x",
        "xn--80ak6aa92e.com",
        True,
    ),
    "punycode": ("https://xn--80ak6aa92e.com/", "https://xn--80ak6aa92e.com/", "xn--80ak6aa92e.com", True),
    "wide letters": ("https://ｅxample.org/", "https://example.org/", "example.org", True),
    "a full stop of another script": ("https://bank。example/", "https://bank.example/", "bank.example", True),
}
NEVER = {
    "a script": "javascript:alert(1)",
    "a script with slashes": "javascript://example.org/%0aalert(1)",
    "data": "data:text/html,<script>1</script>",
    "a file": "file:///etc/passwd",
    "mail": "mailto:a@example.org",
    "ftp": "ftp://example.org/",
    "a name before the host": "https://bank.example@evil.example/",
    "a name and a word": "https://bank.example:443@evil.example/",
    "an empty name": "https://@evil.example/",
    "a backslash": "https://evil.example\\@bank.example/",
    "a backslash for a slash": "https:\\\\evil.example/",
    "no host": "https:///evil.example/",
    "direction": "https://example.org/\u202egnp.exe",
    "direction in the host": "https://exam\u200eple.org/",
    "a joiner": "https://exam\u200bple.org/",
    "a soft hyphen": "https://exam\u00adple.org/",
    "a tag character": "https://example.org/\U000e0041",
    "a line": "https://example.org/\nx",
    "a tab": "https://exam\tple.org/",
    "a control": "https://example.org/\x01",
    "a quote": 'https://example.org/"onclick=x',
    "an escaped host": "https://%65vil.example/",
    "an octal host": "http://0177.0.0.01/",
    "a number for a host": "http://2130706433/",
    "a hexadecimal host": "http://0x7f.0x1/",
    "a port that is none": "https://example.org:port/",
    "a port too high": "https://example.org:99999/",
    "a broken bracket": "https://[::1/",
    "an underscore": "https://a_b.example/",
    "two dots": "https://a..example/",
    "very long": "https://example.org/" + "a" * 2_000,
    "a very long host": "https://" + "a." * 200 + "example/",
    "nothing": "",
    "relative": "//evil.example/",
}


@pytest.mark.requirement("side:safe-links")
@pytest.mark.parametrize("kind", FOLLOWED)
def test_a_web_address_is_followed_to_the_host_that_is_said(kind: str) -> None:
    target, href, host, is_strange = FOLLOWED[kind]
    link = safe_link(target)

    assert link is not None
    assert (link.href, link.host, link.is_strange) == (href, host, is_strange)
    assert ("unusual" in link.words) is is_strange


@pytest.mark.requirement("side:safe-links")
@pytest.mark.parametrize("kind", NEVER)
def test_what_could_lead_elsewhere_is_never_a_link(kind: str) -> None:
    text = f"see {NEVER[kind]} there"

    assert safe_link(NEVER[kind]) is None
    assert all(part.link.host in part.text for part in link_parts(text) if part.link)
    assert "".join(part.text for part in link_parts(text)) == text


SENTENCES = {
    "a full stop": ("Look at https://example.org/a.", ["https://example.org/a"]),
    "brackets around": ("(https://example.org/a)", ["https://example.org/a"]),
    "brackets inside": ("https://example.org/a_(b)", ["https://example.org/a_(b)"]),
    "quotes": ("“https://example.org”, she said", ["https://example.org"]),
    "two": ("https://a.example and http://b.example!", ["https://a.example", "http://b.example"]),
    "none": ("example.org is only a word", []),
    "in a tag": ("<a href='https://example.org'>", ["https://example.org"]),
}


@pytest.mark.parametrize("kind", SENTENCES)
def test_a_link_ends_where_the_sentence_goes_on(kind: str) -> None:
    text, links = SENTENCES[kind]
    parts = link_parts(text)

    assert [part.text for part in parts if part.link] == links
    assert "".join(part.text for part in parts) == text


def test_a_text_of_very_many_links_stays_a_page_that_can_be_read() -> None:
    text = "https://example.org " * 5_000

    assert sum(part.link is not None for part in link_parts(text)) == 100
    assert "".join(part.text for part in link_parts(text)) == text


def flowing(text: str) -> str:
    source = '{% from "approval_parts.html" import flowing %}{{ flowing(text) }}'
    return Templates().environment.from_string(source).render(text=text)


@pytest.mark.requirement("side:safe-links")
def test_a_link_on_a_page_opens_apart_tells_nobody_and_names_its_host() -> None:
    shown = flowing("Go to https://example.org/<b> or javascript:x")

    assert 'href="https://example.org/"' in shown
    assert 'rel="noopener noreferrer nofollow"' in shown and 'target="_blank"' in shown
    assert 'data-host="example.org"' in shown
    assert "<b>" not in shown and 'href="javascript' not in shown


def test_what_does_not_look_like_what_it_is_stays_marked_beside_links() -> None:
    shown = flowing("pay\u202e https://аррӏе.com")

    assert "U+202E" in shown
    assert "xn--80ak6aa92e.com, a name in unusual letters" in shown and "strange" in shown
