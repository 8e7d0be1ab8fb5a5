"""Which cards of a session are open, noted in files: a hook that has nothing to close asks no one."""

from __future__ import annotations

import contextlib
from pathlib import Path

from postroom.programs.hook.call import HookCall


class OpenCards:
    """`<home>/hooks/<session>/<what is asked>` holds the ids of its questions."""

    def __init__(self, home: Path, call: HookCall) -> None:
        self._folder = home / "hooks" / f"{call.client}-{call.session_digest}"
        self._file = self._folder / call.request_digest

    def note(self, ask_ids: list[str]) -> None:
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._file.write_text("\n".join(ask_ids), encoding="utf-8")

    def forget(self) -> None:
        with contextlib.suppress(OSError):
            self._file.unlink(missing_ok=True)
            self._folder.rmdir()  # only when it is empty

    def taken(self) -> list[str]:
        """Of this request; they are nobody else's to close any more."""
        found = _taken(self._file)
        self.forget()
        return found

    def all_taken(self) -> list[str]:
        """Of the whole session."""
        try:
            files = list(self._folder.iterdir())
        except OSError:
            return []
        found = [ask_id for file in files for ask_id in _taken(file)]
        with contextlib.suppress(OSError):
            self._folder.rmdir()
        return found


def _taken(file: Path) -> list[str]:
    try:
        found = file.read_text(encoding="utf-8").split()
        file.unlink(missing_ok=True)
    except OSError:
        return []
    return found
