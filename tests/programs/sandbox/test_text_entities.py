from __future__ import annotations

import json
from typing import Any

import pytest

from postroom.programs.sandbox.arguments import ApiError, Arguments
from postroom.programs.sandbox.text_entities import MOST_ENTITIES, read_entities

BOLD = {"type": "bold", "offset": 0, "length": 1}


def read(entities: Any) -> str | None:
    return read_entities(Arguments({"entities": entities}))


@pytest.mark.requirement("content:sandbox-formatted")
def test_entities_are_kept_as_they_came_and_those_too_many_are_left_out() -> None:
    assert (read(None), read([])) == (None, None)
    assert json.loads(read([BOLD] * 300) or "") == [BOLD] * MOST_ENTITIES
    assert read(json.dumps([BOLD])) == json.dumps([BOLD])


@pytest.mark.parametrize("entities", [{"type": "bold"}, ["bold"], [BOLD | {"length": 0}], [BOLD | {"offset": "1"}]])
def test_what_is_no_entity_is_refused(entities: Any) -> None:
    with pytest.raises(ApiError, match="can't parse MessageEntity"):
        read(entities)
