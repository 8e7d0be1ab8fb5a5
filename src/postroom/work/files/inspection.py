"""Look at a file while it is copied: how large, what it is, and whether it holds a secret."""

from __future__ import annotations

from typing import Final

from postroom.work.files.fit import refused
from postroom.work.files.media_type import Sniffer, agreed_type, name_contradicts
from postroom.work.files.secret_content import SecretScan

NAME_MISMATCH: Final = "name_mismatch"


class Inspection:
    """`field` is what the caller called the file."""

    def __init__(self, field: str, most_bytes: int) -> None:
        self._field = field
        self._most = most_bytes
        self._size = 0
        self._sniffer = Sniffer()
        self._secrets = SecretScan()

    def look(self, chunk: bytes) -> None:
        """Raises ValidationError as soon as one byte too many, or a secret, is seen."""
        self._size += len(chunk)
        if self._size > self._most:
            raise refused(self._field, f"has more than {self._most:,} bytes", "too_large")
        if (secret := self._secrets.feed(chunk)) is not None:
            raise refused(self._field, f"looks like {secret}, which is not sent to anybody", "secret_content")
        self._sniffer.feed(chunk)

    def media_type(self, name: str, declared: str | None, type_field: str, name_field: str) -> str:
        """A declared type that the bytes contradict is refused, and so is a name that promises something else."""
        if self._size == 0:
            raise refused(self._field, "is empty", "empty_file")
        found = self._sniffer.found(name)
        agreed = agreed_type(found, declared)
        if agreed is None:
            raise refused(type_field, f"is {declared}, but the file is {found}", "type_mismatch")
        if name_contradicts(name, found):
            raise refused(name_field, f"is called {name}, but the file is {found}", NAME_MISMATCH)
        return agreed
