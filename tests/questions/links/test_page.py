"""The page behind a one-time link: words of others are shown, and lead nowhere."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest
from hypothesis import given, settings
from tests.questions.sample_questions import new_question
from tests.support.markdown_texts import inked, markdown

from postroom.kernel.text.markdown import parse
from postroom.questions.links.page import HEADERS, question_page

OWN_TAGS = re.compile(
    r"</?(?:!doctype|html|head|meta|title|style|body|main|h1|p|small|div|pre|details|summary|ul|li|code|form|input|"
    r"button|textarea|label|fieldset|br|strong|em|s|blockquote|span|svg|rect|path|circle)(?: [^<>]*)?>"
)


def page(question: str, **more: object) -> str:
    return question_page(new_question(question=question, **more), "Anna", "nonce")


@pytest.mark.requirement("content:questions-formatted", "content:no-injection")
def test_markdown_looks_as_it_should_with_its_links_apart_and_its_source_one_tap_away() -> None:
    shown = page("**Ship** [it](https://evil.example)?", context="# Why\n`x`", format="markdown")

    assert '<div class="shown" dir="auto"><strong>Ship</strong> it?</div>' in shown
    assert "<li>it: <code>https://evil.example</code></li>" in shown
    assert "<pre>**Ship** [it](https://evil.example)?</pre>" in shown
    assert "<strong>Why</strong>" in shown and "<code>x</code>" in shown
    assert "<a " not in shown and "<img" not in shown


def test_plain_words_stay_to_the_letter() -> None:
    assert "<pre>**Ship** it?</pre>" in page("**Ship** it?")


@pytest.mark.requirement("content:nothing-lost", "content:no-injection")
@settings(deadline=None)
@given(markdown)
def test_whatever_is_asked_makes_no_tag_of_its_own_and_loses_nothing(source: str) -> None:
    source = source.strip() or "a"
    shown = page(source[:4000], format="markdown")

    assert not re.findall("<[^>]*>", OWN_TAGS.sub("", shown))
    box = re.search(r'<div class="shown" dir="auto">(.*?)</div>', shown, re.DOTALL)
    assert box is not None
    seen = OWN_TAGS.sub("", box[1]).replace("&nbsp;", " ")
    for entity, sign in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#x27;", "'"), ("&amp;", "&")):
        seen = seen.replace(entity, sign)
    assert inked(seen) == inked(parse(source).text)


def test_it_says_who_asks_and_until_when_as_the_card_does() -> None:
    shown = page("Ship it?", asker="operator")

    assert "Your household asks Anna" in shown and "operator" not in shown.partition("<main>")[2]
    assert re.search(r"Answer by \d\d:\d\d UTC|Answer by \d{4}-", shown)


def test_it_looks_as_the_console_does_and_its_own_policy_lets_it() -> None:
    shown = page("Ship it?")
    style = re.search(r"<style>(.*?)</style>", shown, re.DOTALL)

    assert style is not None
    assert "--ground: light-dark(" in style[1] and "@import" not in style[1] and "url(" not in style[1]
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in HEADERS["Content-Security-Policy"]
