from __future__ import annotations

import pytest
from hypothesis import given, settings
from tests.domain.markdown_texts import inked, markdown

from postroom.domain.markdown import parse
from postroom.domain.readable_text import readable


@pytest.mark.requirement("content:readable-elsewhere")
@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("**bold**", "bold"),
        ("[l](https://a.example)", "l (https://a.example)"),
        ("<https://a.example>", "https://a.example"),
        ("[a@b.example](mailto:a@b.example)", "a@b.example"),
        ("> a\n>\n> > b", "> a\n\n> > b"),
        ("> ```\n> a\n> b\n> ```", "> a\n> b"),
    ],
)
def test_it_reads_well_and_says_where_links_lead(source: str, text: str) -> None:
    assert readable(parse(source)) == text


@settings(deadline=None)  # a machine may be busy
@given(markdown)
def test_all_that_is_visible_and_every_target_is_there(source: str) -> None:
    rich = parse(source)
    shown = inked(readable(rich))

    assert all(span.detail in shown or span.detail.removeprefix("mailto:") in shown for span in rich.links)
    remaining = iter(shown)
    assert all(sign in remaining for sign in inked(rich.text))
