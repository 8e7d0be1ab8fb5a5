"""A case that leaves something out fails there, with a sentence that says what is missing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from postroom.testing import Case, HttpProvider, OwnWords, Proofs
from postroom.testing.case import STANDARD
from postroom.testing.case import Case as CaseCase
from postroom.testing.checks import Check, CheckGroup
from postroom.testing.run import CheckResult, checks, report, run
from tests.architecture.tree import ROOT
from tests.testing.pager import Pager
from tests.testing.pager_case import CASE, PagerPerson


class Wordless(PagerPerson):
    async def write(self, text: str, *, by_bot: bool = False, forged: bool = False) -> None:
        raise AssertionError("nobody can write there")


@asynccontextmanager
async def wordless() -> AsyncIterator[Wordless]:
    async with HttpProvider() as server:
        yield Wordless(server, Pager)


PROVED = ["dedupes", "reconciles", "edits", "buttons", "reacts", "replies", "threads"]


def failures(case: Case, *names: str) -> dict[str, str | None]:
    looked_at = [check for check in checks(case) if check.id in names]
    assert {check.id for check in looked_at} == set(names)
    return {one.check.id: one.failure for one in run(case, looked_at) if one.failed}


@pytest.mark.parametrize("name", PROVED)
def test_a_capability_that_is_declared_and_not_proved_fails(name: str) -> None:
    found = failures(replace(CASE, proofs=replace(CASE.proofs, **{name: None})), f"capability/{name}")

    assert "the Case gives no proof of it" in str(found[f"capability/{name}"])


def test_only_declared_capabilities_are_looked_at() -> None:
    looked_at = {check.id for check in checks(CASE)}

    assert "capability/edits" in looked_at
    assert {"capability/files", "capability/deletes"} & looked_at == {"capability/files"}


def test_a_channel_that_hears_people_needs_a_person() -> None:
    assert failures(replace(CASE, person=None), "capability/inbound")


@pytest.mark.parametrize(
    ("field", "check"),
    [("visible", "property/nothing-lost"), ("mentions", "property/text-is-data")],
)
def test_a_property_that_cannot_be_seen_fails(field: str, check: str) -> None:
    assert f"`{field}`" in str(failures(replace(CASE, **{field: None}), check)[check])


def test_a_situation_without_words_fails_and_names_itself() -> None:
    silent = replace(CASE, words=OwnWords(make=HttpProvider))

    assert "brings swollen about" in str(failures(silent, "swollen")["swollen"])


def test_what_is_left_out_needs_a_reason_and_a_name_that_exists() -> None:
    assert "throttled-flaot" in str(failures(replace(CASE, not_applicable={"throttled-flaot": "a typo"}), "case"))
    assert "no reason" in str(failures(replace(CASE, not_applicable={"swollen": " "}), "case"))
    assert failures(replace(CASE, not_applicable={"swollen": "it never unpacks"}), "case", "swollen") == {}


def test_there_are_at_least_twenty_five_situations_each_with_a_sentence() -> None:
    assert len(STANDARD) >= 25
    assert [name for name, sentence in STANDARD.items() if not sentence.endswith(".")] == []


def test_no_check_has_the_id_of_another() -> None:
    names = [check.id for check in checks(CASE)]

    assert len(names) == len(set(names))


def test_a_proof_of_what_is_not_declared_does_no_harm() -> None:
    async def never(channel: object, provider: object) -> None:
        raise AssertionError("it is not declared")

    case = replace(CASE, proofs=replace(CASE.proofs, files=never))

    assert failures(case, "capability/edits") == {}
    assert isinstance(case.proofs, Proofs)


def test_a_provider_that_speaks_by_its_status_alone_wants_receipts_for_good_ones() -> None:
    """The pager reads what the answer says, so it fails exactly there."""
    by_status = replace(CASE, words=replace(CASE.words, by_status=True))
    looked_at = ("accepted", "not-json", "other-shape", "missing-id", "cut-in-content", "read-then-reset")

    assert set(failures(by_status, *looked_at)) == {"not-json", "other-shape", "missing-id"}


def test_where_people_only_press_no_words_are_waited_for() -> None:
    pressed = [f"inbound/{name}" for name in ("same-event", "other-event", "order", "positions", "restart")]

    assert failures(replace(CASE, presses_only=True, person=wordless), *pressed, "inbound/acknowledging") == {}
    assert set(failures(replace(CASE, person=wordless), *pressed)) == set(pressed)


def test_a_property_is_tried_with_as_many_texts_as_the_case_says() -> None:
    seen: list[object] = []
    case = replace(CASE, examples=7, mentions=lambda part: seen.append(part) or [])

    assert failures(case, "property/text-is-data") == {}
    assert 0 < len(seen) <= 7 * 12  # a text is split into parts


def look(case: CaseCase) -> None:
    """Holds."""


def result(name: str, group: CheckGroup, *, failure: str | None = None, absent: str | None = None) -> CheckResult:
    check = Check(id=name, group=group, sentence="A | B.", look=look, not_applicable=absent)
    return CheckResult(check=check, failure=failure)


def test_it_counts_names_what_is_proved_and_shows_reasons() -> None:
    text = report(
        "pager",
        [
            result("accepted", CheckGroup.SITUATION),
            result("redirect", CheckGroup.SITUATION, failure="it\nwas | followed"),
            result("swollen", CheckGroup.SITUATION, absent="it is never packed"),
            result("capability/edits", CheckGroup.CAPABILITY),
            result("capability/files", CheckGroup.CAPABILITY, failure="none arrived"),
        ],
    )

    assert "2 ok, 2 failed, 1 not applicable." in text
    assert "Capabilities proved: `edits`." in text
    assert "| `redirect` | A \\| B. | **failed**: it was \\| followed |" in text
    assert "| `swollen` | A \\| B. | not applicable: it is never packed |" in text
    assert "| Inbound |" not in text


WRONG = """
from dataclasses import replace
from postroom.testing import suite
from tests.testing.broken.shows_the_token import Broken
from tests.testing.pager_case import case_of

CASE = replace(case_of(Broken), not_applicable={"manners/closing": "it is never closed"})
globals().update(suite(CASE))
"""


def test_each_check_is_a_test_of_pytest(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makepyfile(test_it=WRONG)

    result = pytester.runpytest_subprocess("-rs", "-k", "manners", "-p", "no:cacheprovider")

    result.assert_outcomes(passed=8, failed=1, skipped=1)
    result.stdout.fnmatch_lines(["*it is never closed*"])
    result.stdout.fnmatch_lines(["*No repr shows a secret or the message. But a repr shows a secret*"])
