"""How parts of a text are to look, as a bot says it: taken or refused in Telegram's words."""

from __future__ import annotations

import json
from typing import Final

from postroom.programs.sandbox.arguments import Arguments, bad_request

MOST_ENTITIES: Final = 100


def read_entities(arguments: Arguments, name: str = "entities") -> str | None:
    """As JSON; Telegram leaves out those that are too many."""
    entities = arguments.structure(name)
    if not entities:
        return None
    if not isinstance(entities, list) or not all(map(_is_entity, entities)):
        raise bad_request('can\'t parse MessageEntity: Field "offset", "length" and "type" must be given')
    return json.dumps(entities[:MOST_ENTITIES])


def _is_entity(entity: object) -> bool:
    if not isinstance(entity, dict) or not isinstance(entity.get("type"), str):
        return False
    offset, length = entity.get("offset"), entity.get("length")
    return type(offset) is int and type(length) is int and offset >= 0 and length > 0
