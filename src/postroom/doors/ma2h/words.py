"""What a person reads of a message: its title, its body, and what comes with it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from postroom.domain.markdown_escape import as_markdown
from postroom.doors.ma2h.envelope import Envelope, Verb


def title(envelope: Envelope) -> str:
    """In Markdown, which is what a body is written in; a title is not."""
    return as_markdown(envelope.title)


def detail(envelope: Envelope) -> str | None:
    """The body as it is; everything else to the letter. A file is named and never fetched."""
    document = envelope.document
    pieces = [str(document.get("body") or ""), *_action(envelope), *map(_part, document.get("context") or ())]
    return "\n\n".join(piece for piece in pieces if piece.strip()) or None


def _action(envelope: Envelope) -> Iterator[str]:
    if envelope.verb is not Verb.TASK:
        return
    action = envelope.block
    yield as_markdown(action["instructions"])
    items = [f"- [{'x' if one.get('done') else ' '}] {one['text']}" for one in action.get("checklist") or ()]
    yield "\n\n".join(map(as_markdown, items))
    if verified := action.get("verification"):
        yield as_markdown(f"Done when: {verified}")


def _part(part: Mapping[str, Any]) -> str:
    match part["kind"]:
        case "text":
            return as_markdown(part["text"])
        case "data":
            return as_markdown(json.dumps(part["data"], ensure_ascii=False, indent=1))
        case _:
            file = part["file"]
            return as_markdown(f"{file['name']}: {file['uri']}" if file.get("name") else file["uri"])
