from __future__ import annotations

import pytest

from postroom.domain.errors import ValidationError
from postroom.world.channels.slack.emoji import character_of, name_of


@pytest.mark.parametrize(
    ("emoji", "name"),
    [
        ("👍", "+1"),
        ("❤️", "heart"),
        ("❤", "heart"),
        ("👍🏽", "+1::skin-tone-4"),
        ("1️⃣", "one"),
        (" ✅ ", "white_check_mark"),
    ],
)
def test_a_common_emoji_has_its_name(emoji: str, name: str) -> None:
    assert name_of(emoji) == name


@pytest.mark.parametrize("emoji", ["🪿", "x", "", ":+1:", "🏽"])
def test_another_is_refused_with_some_that_can_be_taken(emoji: str) -> None:
    with pytest.raises(ValidationError, match="emoji has no name at Slack that we know; take a common one"):
        name_of(emoji)


def test_a_name_has_its_emoji() -> None:
    assert (character_of("+1"), character_of("thumbsup"), character_of("nothing_of_that_name")) == ("👍", "👍", None)
