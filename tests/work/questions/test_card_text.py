from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.domain.markdown_texts import inked, markdown

from postroom.domain.delivery import Format
from postroom.domain.markdown import parse
from postroom.work.questions.card_text import CardText, composed

OURS = "1. *Ship* – now_\nAnswer by 10:00 UTC."


def of(text: str) -> CardText:
    return CardText(text, Format.MARKDOWN)


def test_plain_parts_stay_plain_to_the_letter() -> None:
    assert composed(CardText("a *b*"), CardText(""), CardText("c")) == CardText("a *b*\n\nc")


@pytest.mark.requirement("content:questions-formatted")
def test_our_own_words_are_no_markup_beside_the_askers() -> None:
    card = composed(CardText("h_e_a asks:"), of("**Ship**?"), CardText(OURS))

    assert card.format is Format.MARKDOWN
    rich = parse(card.text)
    assert rich.text == f"h_e_a asks:\n\nShip?\n\n{OURS}"
    assert [rich.under(span) for span in rich.spans] == ["Ship"]


@pytest.mark.requirement("content:questions-formatted", "content:no-injection")
@pytest.mark.parametrize("source", ["```\ncode", "~~~~\nx", "a " * 9_999], ids=["fence", "tildes", "long"])
def test_what_would_reach_into_our_words_is_shown_as_readable_text(source: str) -> None:
    assert composed(of(source), CardText(OURS)) == CardText(f"{of(source).plain}\n\n{OURS}")


@pytest.mark.requirement("content:nothing-lost", "content:no-injection", "content:questions-formatted")
@settings(deadline=None)  # a machine may be busy
@given(markdown, st.one_of(st.just(""), markdown))
def test_whatever_is_asked_the_card_says_all_of_it_and_ends_with_our_words(question: str, context: str) -> None:
    card = composed(CardText("health asks:"), of(question), of(context), CardText(OURS))

    seen = parse(card.text) if card.format is Format.MARKDOWN else None
    assert inked(seen.text if seen else card.text).endswith(inked(OURS))
    if seen:
        alone = [link.detail for part in (question, context) if part for link in parse(part).links]
        assert [link.detail for link in seen.links] == alone
        assert inked(seen.text) == inked(
            "health asks:" + "".join(parse(part).text for part in (question, context) if part) + OURS
        )
