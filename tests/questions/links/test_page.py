"""The page behind a one-time link: words of others are shown, and lead nowhere."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from tests.questions.sample_questions import new_question
from tests.support.markdown_texts import inked, markdown

from postroom.kernel.text.markdown import parse
from postroom.questions.links.page import question_page

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
