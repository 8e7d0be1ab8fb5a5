"""Write a change: whole or not at all, with a copy of what was there, through links, with the mode it had."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from postroom.domain.errors import UserError
from postroom.programs.connect.changes import Change, removed
from postroom.programs.connect.clients import ClientFile, Scope
from postroom.programs.connections import changing, read_all, replace_file

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
            copy = read_text(backup_of(target.path))
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
            backup_of(change.path).unlink(missing_ok=True)
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
                replace_file(backup_of(path), change.before.encode(), _mode(path, self.scope))
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


def backup_of(path: Path) -> Path:
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
