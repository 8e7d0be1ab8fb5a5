"""What was written did not arrive as it was written, or did not arrive because of what was written."""

from __future__ import annotations

import pytest

from tests.household.asked_household import labels, press
from tests.museum.house import House

pytestmark = pytest.mark.asyncio(loop_scope="module")
MOST = 4096


def units(text: str) -> int:
    """As Telegram counts."""
    return len(text.encode("utf-16-le")) // 2


async def parts(house: House, words: str) -> list[dict[str, object]]:
    return sorted(await house.saying(words), key=lambda one: int(one["message_id"]))


@pytest.mark.exhibit("openclaw-67396")
async def test_a_text_longer_than_one_message_arrives_whole_and_in_order(house: House) -> None:
    lines = [f"Component {n} works as it should." for n in range(400)]

    answer = await house.notify(message="\n".join(lines))

    shown = [str(one["text"]) for one in await parts(house, "Component")]
    assert answer["status"] == "ok" and len(shown) > 1
    assert "\n".join(shown).split("\n") == lines and max(map(units, shown)) <= MOST


@pytest.mark.exhibit("openclaw-75868")
async def test_long_formatted_text_is_divided_as_well_and_stays_formatted(house: House) -> None:
    text = "\n\n".join(f"**Chapter {n}** {'of the report ' * 9}with `code`." for n in range(90))

    assert (await house.notify(message=text, format="markdown"))["status"] == "ok"

    shown = await parts(house, "of the report")
    assert len(shown) > 1 and max(units(str(one["text"])) for one in shown) <= MOST
    for one in shown:
        kinds = {entity["type"] for entity in one["entities"]}  # type: ignore[attr-defined]
        assert {"bold", "code"} <= kinds and "**" not in str(one["text"])
    assert sum(str(one["text"]).count("Chapter") for one in shown) == 90


@pytest.mark.exhibit("message-pusher-88")
async def test_formatting_that_was_never_closed_costs_no_message(house: House) -> None:
    text = "**Unclosed [link( and `code with _half a thought " + "and more words " * 400

    assert (await house.notify(message=text, format="markdown"))["status"] == "ok"

    shown = await parts(house, "and more words")
    assert len(shown) > 1 and "Unclosed" in str(shown[0]["text"])
    assert sum(str(one["text"]).count("and more words") for one in shown) >= 398


@pytest.mark.exhibit("openclaw-31194")
async def test_characters_that_markup_would_escape_are_counted_and_shown_as_themselves(house: House) -> None:
    text = "Escaped: " + "<&>" * 1362  # 4,095 characters; four times as many as HTML

    assert (await house.notify(message=text))["status"] == "ok"

    (shown,) = await parts(house, "Escaped:")
    assert shown["text"] == text


@pytest.mark.exhibit("telegram-bot-api-374")
async def test_the_length_is_counted_as_the_provider_counts_it(house: House) -> None:
    text = "👋🏽" * 1500  # 3,000 characters, and 6,000 by the provider's count

    assert (await house.notify(message=text))["status"] == "ok"

    shown = [str(one["text"]) for one in await parts(house, "👋🏽")]
    assert "".join(shown) == text and max(map(units, shown)) <= MOST


@pytest.mark.exhibit("openclaw-106996")
async def test_options_too_long_for_a_button_have_their_buttons_all_the_same(house: House) -> None:
    options = [
        f"Restore the backup of the {n}. day of the month into a new database beside the old one" for n in (1, 2)
    ]
    asked = await house.ask("Which backup?", options=options)

    card = await house.shows("Which backup?")
    buttons = [one for row in card["reply_markup"]["inline_keyboard"] for one in row]
    assert max(len(one["callback_data"].encode()) for one in buttons) <= 64
    await press(house, card, labels(card)[1])
    assert (await house.wait(asked))["answer"]["value"] == options[1]
