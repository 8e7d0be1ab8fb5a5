from __future__ import annotations

from postroom.domain.rich_text import RichText, SpanStyle, TextSpan
from postroom.world.channels.rich_parts import fitting, with_mark


def test_what_never_fits_says_its_links_in_words() -> None:
    rich = RichText("a b", (TextSpan(0, 1, SpanStyle.LINK, "https://a.example"),))

    assert list(fitting(rich, 100, lambda part: not part.spans)) == [RichText("a (https://a.example) b")]


def test_the_mark_is_no_part_of_a_span() -> None:
    part = RichText("ab", (TextSpan(0, 2, SpanStyle.BOLD),))

    assert with_mark([part], "(m)", 100) == [RichText("ab\n\n(m)", part.spans)]
    assert with_mark([part], "(m)", 4) == [part, RichText("(m)")]
