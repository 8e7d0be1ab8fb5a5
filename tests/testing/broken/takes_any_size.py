"""Declares how much it carries, and looks at no size."""

from __future__ import annotations

from collections.abc import Sequence

from postroom.message.attachment import Attachment
from tests.testing.pager import Pager

FAILS = {"capability/files-too-large"}


class Broken(Pager):
    def check_files(self, files: Sequence[Attachment]) -> None:
        pass
