"""The channel of the documentation's example and its own case, as a household's author would keep them."""

from __future__ import annotations

import sys

from tests.architecture.tree import ROOT

from postroom.testing import Case, HttpProvider, reply

ACCEPTED = reply(201, {"page": "hwQ2YpKdmg"})


class BeeperGateway(HttpProvider):
    """Accepts until a test says otherwise."""

    def __init__(self) -> None:
        super().__init__(ACCEPTED)


def example() -> Case:
    if str(ROOT / "examples") not in sys.path:
        sys.path.append(str(ROOT / "examples"))
    from beeper_case import CASE as case

    assert isinstance(case, Case)
    return case


CASE = example()
