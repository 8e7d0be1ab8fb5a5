from __future__ import annotations

import pytest

from postroom.domain.errors import ValidationError
from postroom.domain.markup import Button, ButtonStyle, Markup
from postroom.world.channels.discord.components import components


def buttons(*rows: int) -> Markup:
    counted = iter(range(1000))
    return Markup(
        buttons=tuple(tuple(Button(label="x", token=f"t{next(counted)}") for _ in range(many)) for many in rows)
    )


def shape(markup: Markup) -> list[int]:
    return [len(row["components"]) for row in components(markup)]


@pytest.mark.parametrize(
    ("rows", "shown"),
    [([1, 2], [1, 2]), ([7], [5, 2]), ([1] * 6, [5, 1]), ([25], [5] * 5), ([3] * 8, [5, 5, 5, 5, 4]), ([0, 1], [1])],
    ids=str,
)
def test_rows_are_kept_while_they_fit(rows: list[int], shown: list[int]) -> None:
    assert shape(buttons(*rows)) == shown


def test_more_than_twenty_five_are_refused() -> None:
    with pytest.raises(ValidationError, match="25"):
        components(buttons(26))


def test_a_key_has_a_style_a_label_and_what_it_says() -> None:
    markup = Markup(
        buttons=(
            (
                Button(label="Yes\nplease", token="a", style=ButtonStyle.SUCCESS),
                Button(label="No", token="b", style=ButtonStyle.DANGER),
                Button(label="Go", token="c", style=ButtonStyle.PRIMARY),
                Button(label="L" * 90, token="d"),
                Button(label="Open", url="https://home.example/x"),
            ),
        )
    )

    [row] = components(markup)

    assert row["type"] == 1
    assert [(key["label"], key["style"], key.get("custom_id"), key.get("url")) for key in row["components"]] == [
        ("Yes please", 3, "a", None),
        ("No", 4, "b", None),
        ("Go", 1, "c", None),
        ("L" * 79 + "…", 2, "d", None),
        ("Open", 5, None, "https://home.example/x"),
    ]


@pytest.mark.parametrize("token", ["t" * 101, "", "\ud800"])
def test_a_token_discord_would_refuse_is_refused_before(token: str) -> None:
    with pytest.raises(ValidationError, match="token"):
        components(Markup(buttons=((Button(label="x", token=token),),)))


@pytest.mark.parametrize("url", ["https://home.example/" + "x" * 512, "ftp://home.example", "http://localhost/x"])
def test_a_link_discord_would_refuse_is_no_button(url: str) -> None:
    assert components(Markup(buttons=((Button(label="x", url=url),),))) == []


def test_without_markup_there_is_nothing() -> None:
    assert components(None) == [] == components(Markup(force_reply=True))
