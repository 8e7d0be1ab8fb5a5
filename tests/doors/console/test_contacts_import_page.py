"""Imports of several people, each with progress of their own."""

from __future__ import annotations

from collections.abc import Sequence

from tests.doors.console.visiting import visit

from postroom.domain.person import NewPerson
from postroom.domain.principal import OPERATOR, Principal, Role
from postroom.doors.console.bulk import Bulk
from postroom.doors.console.contacts_import_page import ImportPages
from postroom.doors.console.form import Form

ANN = Principal(Role.USER, "ann")


class Nobody:
    """A book that is always full."""

    async def merge(self, owner_agent: str, cards: Sequence[NewPerson], *, source: str, now_us: int) -> tuple[int, int]:
        return 0, 0


async def test_somebody_elses_import_does_not_end_mine() -> None:
    names = iter(("mine", "theirs"))
    bulk = Bulk(lambda: next(names))
    pages = ImportPages(Nobody(), bulk)
    cards = Form((("cards", "name\nBob\n"),))

    await pages.begin(visit("/people/import", ANN, form=cards))
    await pages.begin(visit("/people/import", OPERATOR, form=cards))
    shown = await pages.progress(visit("/people/import/mine", ANN, path={"id": "mine"}))
    hidden = await pages.progress(visit("/people/import/mine", OPERATOR, path={"id": "mine"}))
    await bulk.close()

    assert shown.status_code == 200
    assert hidden.status_code == 303
