"""What connecting or removing does to one file: the text before, the text after, and nothing else."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from postroom.programs.connect import json_text, toml_text
from postroom.programs.connect.clients import ClientFile, FileKind
from postroom.programs.connect.not_readable import NotReadable

_OUR_HOOK: Final = re.compile(r"postroom['\"]? hook [a-z]+\b")
_HOOKS: Final = "hooks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """`before` is None for a file that is not there, `after` for one that goes; `made` are objects that we made."""

    path: Path
    before: str | None
    after: str | None
    made: tuple[str, ...] = ()

    @property
    def is_none(self) -> bool:
        return self.before == self.after

    def shown(self) -> str:
        """A unified diff; without an end of line at the end it says so as diff does."""
        lines = difflib.unified_diff(
            (self.before or "").splitlines(keepends=True),
            (self.after or "").splitlines(keepends=True),
            str(self.path) if self.before is not None else "/dev/null",
            str(self.path) if self.after is not None else "/dev/null",
        )
        return "".join(one if one.endswith("\n") else f"{one}\n\\ No newline at end of file\n" for one in lines)


def connected(target: ClientFile, before: str | None) -> Change:
    """Raises NotReadable, with the file's name, when the text is not what it should be."""
    try:
        after = _connected(target, before or "")
    except NotReadable as error:
        raise NotReadable(f"{target.path}: {error}. It was left as it is; mend it and try again.") from None
    return Change(path=target.path, before=before, after=after, made=_missing(target, before or ""))


def removed(target: ClientFile, before: str, made: tuple[str, ...]) -> Change:
    """Only our entries, and the objects that we made for them when they are empty."""
    try:
        after = _removed(target, before, made)
    except NotReadable as error:
        raise NotReadable(f"{target.path}: {error}. It was left as it is; mend it and try again.") from None
    return Change(path=target.path, before=before, after=after)


def is_connected(target: ClientFile, text: str) -> bool:
    try:
        if target.entry is not None and _entry(target, text) is None:
            return False
        listed = [json_text.json_value(text, (_HOOKS, hook.event)) for hook in target.hooks]
    except NotReadable:
        return False
    return all(isinstance(one, list) and any(map(is_ours, one)) for one in listed)


def is_ours(group: Any) -> bool:
    """Whether every handler of the group starts `postroom hook`."""
    handlers = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(handlers, list) or not handlers:
        return False
    return all(isinstance(one, dict) and _OUR_HOOK.search(str(one.get("command"))) for one in handlers)


def _entry(target: ClientFile, text: str) -> Any:
    reader = toml_text.toml_value if target.format is FileKind.TOML else json_text.json_value
    return reader(text, target.server)


def _connected(target: ClientFile, text: str) -> str:
    match target.format:
        case FileKind.WHOLE:
            return target.text
        case FileKind.TOML:
            assert target.entry is not None  # noqa: S101  # a TOML file has nothing else of ours
            same = toml_text.toml_value(text, target.server) == dict(target.entry)
            return text if same else toml_text.with_table(text, target.server, target.entry)
        case FileKind.JSON:
            return _connected_json(target, text)


def _connected_json(target: ClientFile, text: str) -> str:
    if target.entry is not None:
        text = json_text.with_member(text, target.server, dict(target.entry))
    wanted = {hook.event for hook in target.hooks}
    for event in [one for one in _events(text) if target.hooks and one not in wanted]:
        text = json_text.without_items(text, (_HOOKS, event), is_ours)
    for hook in target.hooks:
        text = json_text.with_items_replaced(text, (_HOOKS, hook.event), is_ours, dict(hook.group))
    return text


def _removed(target: ClientFile, text: str, made: tuple[str, ...]) -> str | None:
    if target.format is FileKind.WHOLE:
        return None if text == target.text else text
    if target.format is FileKind.TOML:
        return toml_text.without_table(text, target.server)
    if target.entry is not None:
        text = json_text.without_member(text, target.server)
    for event in _events(text) if target.hooks else ():
        text = json_text.without_items(text, (_HOOKS, event), is_ours)
    for one in sorted(made, key=len, reverse=True):
        path = tuple(one.split("/"))
        if json_text.json_value(text, path) in ({}, []):
            text = json_text.without_member(text, path)
    return text


def _events(text: str) -> list[str]:
    hooks = json_text.json_value(text, (_HOOKS,))
    return list(hooks) if isinstance(hooks, dict) else []


def _missing(target: ClientFile, text: str) -> tuple[str, ...]:
    """Objects and lists on the way to our entries that are not there yet."""
    if target.format is not FileKind.JSON:
        return ()
    ways = [target.server[:-1]] if target.entry is not None else []
    ways += [way for hook in target.hooks for way in ((_HOOKS,), (_HOOKS, hook.event))]
    return tuple(dict.fromkeys("/".join(way) for way in ways if json_text.json_value(text, way) is None))
