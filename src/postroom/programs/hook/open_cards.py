"""Which cards of a session are open, noted in files: a hook that has nothing to close asks no one."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

from postroom.programs.hook.call import HookCall, session_digest


class OpenCards:
    """`<home>/hooks/<session>/<what is asked>` holds the ids of its questions."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._file = folder / name

    @classmethod
    def of(cls, home: Path, call: HookCall) -> OpenCards:
        return cls(home / "hooks" / f"{call.client}-{call.session_digest}", call.request_digest)

    @classmethod
    def deferred(cls, home: Path, client: str, session: str, tool_use_id: str) -> OpenCards:
        """In a folder of their own: the client's program ends while they are open, and no end closes them."""
        name = hashlib.sha256(tool_use_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return cls(home / "hooks" / f"{client}-{session_digest(client, session)}-deferred", name)

    def noted(self) -> list[str]:
        try:
            return self._file.read_text(encoding="utf-8").split()
        except OSError:
            return []

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
