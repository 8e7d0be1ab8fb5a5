from __future__ import annotations

from postroom.modules.catalogue import MODULES


def test_every_module_goes_by_its_own_name() -> None:
    assert {name: make().name for name, make in MODULES.items()} == {"calendar": "calendar"}
