"""Write the owner's chat into the text of a settings file, and leave every other byte of it alone."""

from __future__ import annotations

import re
import tomllib
from typing import Any

_HEADER = re.compile(r"^[ \t]*\[[ \t]*owner[ \t]*\][ \t]*(#[^\r\n]*)?(?=\r?$)", re.M)
_NEXT_TABLE = re.compile(r"^[ \t]*\[", re.M)
_KEY = re.compile(r"^([ \t]*telegram_chat_id[ \t]*=[ \t]*)(\"[^\"\n]*\"|'[^'\n]*'|-?\d+)", re.M)


def owner_line(chat_id: str) -> str:
    return f'telegram_chat_id = "{chat_id}"'


def with_owner_chat(text: str, chat_id: str) -> str | None:
    """None when the file is written in a way that only a person should change."""
    changed = _changed(text, chat_id)
    wanted = _parsed(text)
    if wanted is None or not isinstance(wanted.setdefault("owner", {}), dict):
        return None
    wanted["owner"]["telegram_chat_id"] = chat_id
    return changed if _parsed(changed) == wanted else None  # whatever else it looked like, it must say only this


def _changed(text: str, chat_id: str) -> str:
    end = "\r\n" if "\r\n" in text else "\n"
    header = _HEADER.search(text)
    if header is None:
        gap = "" if not text or text.endswith(end * 2) else end if text.endswith("\n") else end * 2
        return f"{text}{gap}[owner]{end}{owner_line(chat_id)}{end}"
    start = header.end()
    following = _NEXT_TABLE.search(text, start)
    stop = following.start() if following else len(text)
    if key := _KEY.search(text, start, stop):
        return f'{text[: key.start()]}{key[1]}"{chat_id}"{text[key.end() :]}'
    return f"{text[:start]}{end}{owner_line(chat_id)}{text[start:]}"


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
