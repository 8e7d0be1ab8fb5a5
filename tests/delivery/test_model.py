from __future__ import annotations

from dataclasses import MISSING, fields

from tests.support.sample_deliveries import new_delivery

from postroom.delivery.model import Carried
from postroom.kernel.values.ids import altered


def test_the_first_claim_carries_all_that_the_delivery_does() -> None:
    optional = {one.name: f"a {one.name}" for one in fields(Carried) if one.default is not MISSING}
    new = altered(new_delivery(), **optional)

    claim = new.claimed(sending=True)

    names = [one.name for one in fields(Carried)]
    assert [getattr(claim, name) for name in names] == [getattr(new, name) for name in names]
