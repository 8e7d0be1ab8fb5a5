"""All that the suite looks at, for one case."""

from __future__ import annotations

from postroom.testing.capability_proofs import capability_proofs
from postroom.testing.case import Case
from postroom.testing.check import Check, CheckGroup, ensure
from postroom.testing.hearing import hearing
from postroom.testing.lifetime import LIFETIME
from postroom.testing.manners import manners
from postroom.testing.playing import own, standard
from postroom.testing.properties import properties


def checks(case: Case) -> list[Check]:
    every = [
        *standard(case, dict(LIFETIME)),
        *own(case),
        *manners(case),
        *properties(case),
        *capability_proofs(case),
        *hearing(case),
    ]
    return [*every, _sound({one.id for one in every})]


def _sound(known: set[str]) -> Check:
    def look(case: Case) -> None:
        unknown = sorted(set(case.not_applicable) - known)
        ensure(not unknown, f"not_applicable names what is no check: {', '.join(unknown)}")
        silent = sorted(name for name, reason in case.not_applicable.items() if not reason.strip())
        ensure(not silent, f"not_applicable gives no reason for {', '.join(silent)}")

    return Check(
        id="case", group=CheckGroup.MANNERS, sentence="The Case gives a reason for whatever is left out.", look=look
    )
