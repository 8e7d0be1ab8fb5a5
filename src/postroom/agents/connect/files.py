"""Connecting or removing, file by file: what changes in a text, and how it is written."""

from __future__ import annotations

import difflib
import hashlib
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from postroom.agents.connect import texts
from postroom.agents.connect.clients import ClientFile, FileKind, Scope
from postroom.agents.connect.texts import NotReadable
from postroom.kernel.running.files import replace_file
from postroom.kernel.values.errors import UserError
from postroom.settings.connections import changing, read_all

# The text before, the text after, and nothing else.

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
        listed = [texts.json_value(text, (_HOOKS, hook.event)) for hook in target.hooks]
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
    reader = texts.toml_value if target.format is FileKind.TOML else texts.json_value
    return reader(text, target.server)


def _connected(target: ClientFile, text: str) -> str:
    match target.format:
        case FileKind.WHOLE:
            return target.text
        case FileKind.TOML:
            assert target.entry is not None  # noqa: S101  # a TOML file has nothing else of ours
            same = texts.toml_value(text, target.server) == dict(target.entry)
            return text if same else texts.with_table(text, target.server, target.entry)
        case FileKind.JSON:
            return _connected_json(target, text)


def _connected_json(target: ClientFile, text: str) -> str:
    if target.entry is not None:
        text = texts.with_member(text, target.server, dict(target.entry))
    wanted = {hook.event for hook in target.hooks}
    for event in [one for one in _events(text) if target.hooks and one not in wanted]:
        text = texts.without_items(text, (_HOOKS, event), is_ours)
    for hook in target.hooks:
        text = texts.with_items_replaced(text, (_HOOKS, hook.event), is_ours, dict(hook.group))
    return text


def _removed(target: ClientFile, text: str, made: tuple[str, ...]) -> str | None:
    if target.format is FileKind.WHOLE:
        return None if text == target.text else text
    if target.format is FileKind.TOML:
        return texts.without_table(text, target.server)
    if target.entry is not None:
        text = texts.without_member(text, target.server)
    for event in _events(text) if target.hooks else ():
        text = texts.without_items(text, (_HOOKS, event), is_ours)
    for one in sorted(made, key=len, reverse=True):
        path = tuple(one.split("/"))
        if texts.json_value(text, path) in ({}, []):
            text = texts.without_member(text, path)
    return text


def _events(text: str) -> list[str]:
    hooks = texts.json_value(text, (_HOOKS,))
    return list(hooks) if isinstance(hooks, dict) else []


def _missing(target: ClientFile, text: str) -> tuple[str, ...]:
    """Objects and lists on the way to our entries that are not there yet."""
    if target.format is not FileKind.JSON:
        return ()
    ways = [target.server[:-1]] if target.entry is not None else []
    ways += [way for hook in target.hooks for way in ((_HOOKS,), (_HOOKS, hook.event))]
    return tuple(dict.fromkeys("/".join(way) for way in ways if texts.json_value(text, way) is None))


# Written whole or not at all, with a copy of what was there, through links, with the mode it had.

_COPY: Final = ".postroom-backup"
_NEW_MODES: Final = {Scope.USER: 0o600, Scope.PROJECT: 0o644}


class FileRefused(UserError):
    """A file that cannot be read or written as it must be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """`home` is the household's, where it is noted what we changed."""

    home: Path
    client: str
    scope: Scope

    def apply(self, change: Change) -> None:
        if change.is_none:
            return
        path = real(change.path)
        if read_text(change.path) != change.before:
            raise FileRefused(f"{path} was changed at this very moment by another program: please try again.")
        with changing(self.home) as document:
            document["files"][str(path)] = self._note(path, change, document["files"].get(str(path)))
            self._write(path, change)

    def removal(self, target: ClientFile) -> Change:
        """Back to the very bytes that were there, when they are still ours to take back; else only our entries go."""
        text = read_text(target.path)
        if text is None:
            return Change(path=target.path, before=None, after=None)
        note = _note_of(self.home, target.path)
        if note.get("after") == _digest(text):
            copy = read_text(_backup_of(target.path))
            if note.get("before") is None:
                return Change(path=target.path, before=text, after=None)
            if copy is not None and note["before"] == _digest(copy):
                return Change(path=target.path, before=text, after=copy)
        return removed(target, text, tuple(map(str, note.get("made") or ())))

    def remove(self, change: Change) -> None:
        if change.is_none:
            return
        path, note = real(change.path), _note_of(self.home, change.path)
        if change.after is None:
            path.unlink()
        else:
            replace_file(path, change.after.encode(), _mode(path, self.scope))
        if change.after is None or _digest(change.after) == note.get("before"):
            _backup_of(change.path).unlink(missing_ok=True)
        with changing(self.home) as document:
            document["files"].pop(str(path), None)

    def is_elsewhere(self) -> bool:
        """Whether another file of this client still has our entries."""
        return any(one.get("client") == self.client for one in read_all(self.home)["files"].values())

    def _note(self, path: Path, change: Change, known: Mapping[str, Any] | None) -> dict[str, Any]:
        """Of several changes in a row the first copy is kept: it is what the person had without us."""
        if known and change.before is not None and known.get("after") == _digest(change.before):
            before, made = known.get("before"), [*known.get("made", ()), *change.made]
        else:
            before, made = None if change.before is None else _digest(change.before), list(change.made)
            if change.before is not None:
                replace_file(_backup_of(path), change.before.encode(), _mode(path, self.scope))
        after = _digest(change.after or "")
        return {"client": self.client, "before": before, "after": after, "made": list(dict.fromkeys(made))}

    def _write(self, path: Path, change: Change) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, (change.after or "").encode(), _mode(path, self.scope))
        except OSError as error:
            raise FileRefused(f"{path} cannot be written ({error.strerror}); make it writable and try again.") from None


def read_text(path: Path) -> str | None:
    """None when there is no such file."""
    try:
        return real(path).read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise FileRefused(f"{path} is not UTF-8. It was left as it is; save it as UTF-8 and try again.") from None
    except OSError as error:
        raise FileRefused(
            f"{path} cannot be read ({error.strerror}). It was left as it is; make it readable and try again."
        ) from None


def real(path: Path) -> Path:
    """Where a link leads, so that the link stays one."""
    try:
        return path.resolve() if path.is_symlink() else path.parent.resolve() / path.name
    except (OSError, RuntimeError):
        raise FileRefused(
            f"{path} is a link that leads nowhere. It was left as it is; mend the link and try again."
        ) from None


def _backup_of(path: Path) -> Path:
    at = real(path)
    return at.with_name(at.name + _COPY)


def _note_of(home: Path, path: Path) -> dict[str, Any]:
    note = read_all(home)["files"].get(str(real(path)))
    return note if isinstance(note, dict) else {}


def _mode(path: Path, scope: Scope) -> int:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return _NEW_MODES[scope]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
