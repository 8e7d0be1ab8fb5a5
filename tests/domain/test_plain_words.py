from __future__ import annotations

from postroom.domain.delivery import Format
from postroom.domain.plain_words import plain_words


def test_plain_text_stays_and_markdown_reads_well() -> None:
    source = "**b** [l](https://a.example)"

    assert plain_words(source, Format.PLAIN) == source
    assert plain_words(source, Format.MARKDOWN) == "b l (https://a.example)"
    assert plain_words("", Format.MARKDOWN) == ""
