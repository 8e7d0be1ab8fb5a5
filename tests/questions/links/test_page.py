"""The page behind a one-time link: words of others are shown, and lead nowhere."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from playwright.async_api import Browser
from tests.console.appearance import is_accessible
from tests.questions.sample_questions import new_question
from tests.support.markdown_texts import inked, markdown

from postroom.kernel.text.markdown import parse
from postroom.questions.links.page import confirm_page, plain_page, question_page

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


@pytest.mark.requirement("content:no-injection")
def test_what_turns_the_direction_of_reading_is_left_out_as_on_the_card() -> None:
    shown = page("Open \u202egnp.exe?", options=["\u202eon", "yes"], context="\u202e")

    assert "<pre>Open gnp.exe?</pre>" in shown and "\u202e" not in shown.replace('value="\u202eon"', "")


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


# -- What the eye sees, also of words that would burst it --

LONG = "x" * 200
FIELDS = {"type": "object", "properties": {"street": {"type": "string", "title": LONG}, "day": {"type": "string"}}}


@pytest.mark.asyncio(loop_scope="session")
async def test_every_page_behind_a_link_is_for_everybody_light_and_dark_on_a_desk_and_on_a_phone(
    browser: Browser,
) -> None:
    deploy = new_question(question="Deploy?", kind="approve", options=None, context=LONG)
    pages = {
        "a choice": page(f"<script>1</script> \u05e9\u05dc {LONG}", options=[LONG, "👍"], context=LONG),
        "a form": page("Where and when?", kind="form", form=FIELDS, options=None),
        "words": page(f"**Why** [{LONG}](https://evil.example/{LONG})?", kind="text", format="markdown", options=None),
        "an approval": question_page(deploy, "Anna", "nonce", "Choose or write something first"),
        "its second step": confirm_page(deploy, "Anna", "nonce", "answer", "approve"),
        "a link that was used": plain_page("This link was used already."),
    }
    shown = await browser.new_page()
    for name, text in pages.items():
        await shown.set_content(text)
        await is_accessible(shown, name)
    await shown.close()
