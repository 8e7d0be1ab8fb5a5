from __future__ import annotations

from hypothesis import given, settings
from tests.domain.markdown_texts import markdown

from postroom.domain.markdown import parse
from postroom.domain.rich_text import RichText, SpanStyle, TextSpan, folded_over, inserted, runs


def test_a_span_that_is_cut_is_there_in_both_pieces() -> None:
    rich = RichText("one two", (TextSpan(0, 7, SpanStyle.BOLD),))

    assert rich.piece(0, 3) == RichText("one", (TextSpan(0, 3, SpanStyle.BOLD),))
    assert rich.piece(4, 7) == RichText("two", (TextSpan(0, 3, SpanStyle.BOLD),))


def test_what_is_inserted_at_the_edge_of_a_span_is_not_part_of_it() -> None:
    rich = RichText("ab", (TextSpan(0, 1, SpanStyle.BOLD), TextSpan(1, 2, SpanStyle.ITALIC)))

    assert inserted(rich, [(0, "<"), (1, "--")]) == RichText(
        "<a--b", (TextSpan(1, 2, SpanStyle.BOLD), TextSpan(4, 5, SpanStyle.ITALIC))
    )


@settings(deadline=None)  # a machine may be busy
@given(markdown)
def test_every_way_of_going_through_it_sees_the_whole_text(source: str) -> None:
    rich = parse(source)

    assert "".join(text for text, _ in runs(rich)) == rich.text
    assert folded_over(rich, lambda text: text, lambda _, inside, __: inside) == rich.text
