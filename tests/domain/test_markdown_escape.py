from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.domain.markdown_texts import inked, markdown

from postroom.domain.markdown import parse
from postroom.domain.markdown_escape import as_markdown


@pytest.mark.requirement("content:no-injection")
@settings(deadline=None)
@given(st.one_of(markdown, st.text(alphabet="ab1 \n\t*_~`[]()<>#-+.!|\\\\:@&=é😀/", max_size=80)))
def test_escaped_words_are_read_as_the_same_words_without_any_look(text: str) -> None:
    rich = parse(as_markdown(text))

    assert inked(rich.text) == inked(text)
    assert rich.spans == ()
