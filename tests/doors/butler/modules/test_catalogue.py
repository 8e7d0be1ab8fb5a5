"""The modules a butler's file can name."""

from __future__ import annotations

from postroom.doors.butler.modules.catalogue import MODULES


def test_every_module_goes_by_its_own_name() -> None:
    made = {name: make().name for name, make in MODULES.items()}

    assert made == {name: name for name in ("calendar", "email", "telegram")}
