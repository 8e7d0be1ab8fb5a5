"""An open question as the household's API tells of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from postroom.domain.delivery import Format
from postroom.domain.question import Option, QuestionKind, Wording


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """`revision` counts its wordings: what is answered is the one that was on the screen."""

    id: str
    revision: int
    asker: str
    wording: Wording


def read_ask(document: Mapping[str, Any]) -> Ask | None:
    """None for what this desk cannot show; the question stays open elsewhere."""
    try:
        asked = document["asked"]
        return Ask(
            id=str(document["ask_id"]),
            revision=int(asked["revision"]),
            asker=str(asked["asked_by"]),
            wording=_wording(asked),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _wording(asked: Mapping[str, Any]) -> Wording:
    form = asked.get("form")
    return Wording(
        kind=QuestionKind(asked["kind"]),
        question=str(asked["question"]),
        context=asked.get("context"),
        options=tuple(_option(one) for one in asked.get("options") or ()),
        multiple=asked.get("multiple") is True,
        form=dict(form) if form else None,
        allow_text=asked.get("allow_text") is not False,
        secret=asked.get("secret") is True,
        format=Format(asked.get("format") or Format.PLAIN),
    )


def _option(one: Mapping[str, Any]) -> Option:
    return Option(value=str(one["value"]), label=str(one["label"]), description=one.get("description"))
