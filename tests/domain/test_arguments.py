"""Names of arguments that a tool does not have."""

from __future__ import annotations

import pytest

from postroom.domain.arguments import unknown_argument


@pytest.mark.parametrize(
    ("given", "allowed", "told"),
    [
        (["channel"], ["channel"], None),
        ([], [], None),
        (["chanel"], ["channel", "to"], "Unknown argument chanel: allowed are channel, to; did you mean 'channel'?"),
        (["xyz"], ["channel"], "Unknown argument xyz: allowed are channel"),
        (["xyz"], [], "Unknown argument xyz: this tool takes none"),
        (["a\nb"], ["channel"], "Unknown argument a\\x0ab: allowed are channel"),
    ],
    ids=str,
)
def test_the_first_unknown_one_is_named(given: list[str], allowed: list[str], told: str | None) -> None:
    assert unknown_argument(given, allowed) == told
