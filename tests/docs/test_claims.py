"""What README's first screens and the index claim stands beside the test or the measurement that proves it."""

from __future__ import annotations

import pytest

from tests.architecture.tree import ROOT

README, INDEX = "README.md", "docs/index.md"
PICTURE = "docs/test_moving_picture.py::test_"
CLIENTS = "agents/connect/test_real_clients.py::test_"
# Of each sentence the words that claim something; then what would fail, or what was measured, if it were not so.
CLAIMS: tuple[tuple[str, str, str], ...] = (
    (
        README,
        "Your agent asks, your phone buzzes, you tap, it goes on",
        f"{PICTURE}a_run_of_today_says_on_both_screens",
    ),
    (README, "only the model's words are scripted", f"{PICTURE}it_was_made_with_the_client_that_the_tests_run"),
    (
        README,
        "without credentials nothing leaves it",
        "household/test_channels.py::test_in_the_sandbox_every_account",
    ),
    (
        README,
        "shows what changes in Claude Code's files, and asks",
        "agents/connect/test_commands.py::test_nothing_is_written_before",
    ),
    (README, "The screen and the phone ask at the same time", f"{CLIENTS}claude_code_runs_the_command_when_the_person"),
    (README, "the first answer counts", "questions/rules/test_judge.py::test_a_person_who_was_asked_answers"),
    (
        README,
        "It survives `kill -9` at every step, full disks, lost databases and cut lines",
        "docs/explanation/reliability.md",
    ),
    (README, "the answer may take days", "agents/coding/test_headless.py::test_a_runner_that_was_killed_goes_on"),
    (README, "any other service (Apprise)", "contract/cases.py"),
    (README, "Agents call tools over MCP, or routes over HTTP.", "agents/connect/test_conformance.py"),
    (README, "Nothing stored is ever lost.", "docs/explanation/reliability.md"),
    (
        README,
        "and it is always marked",
        "delivery/rules/test_retry.py::test_a_question_without_an_answer_is_asked_again",
    ),
    (
        README,
        "says afterwards what happened",
        "overview/test_commands.py::test_a_retried_message_says_what_had_gone_wrong",
    ),
    (README, "are pipx, uv, a container or a service", "packaging/test_installers.py::test_pipx_installs_it"),
    (README, "The question outlives the agent, the server and the channel", "docs/explanation/reliability.md"),
    (README, "are in [`examples/`](examples) and run in the tests", "agents/test_examples.py::test_an_example_leaves"),
    (README, "tries the credentials without sending anything", "cli/doctor/test_checks.py"),
    (README, "every part can run alone", "household/test_processes.py::test_four_processes_deliver_one_message_once"),
    (README, "It goes to the right person or to nobody", "people/names/test_resolve.py"),
    (
        README,
        "to the letter, and nothing typed is lost",
        "desk/test_server.py::test_a_timeout_waits_for_the_person_who_is",
    ),
    (README, "because there is one Bob", "connectors/test_app.py"),
    (README, "in her mail outside quiet hours", "inbox/test_copies.py"),
    (
        README,
        "a person agrees before strangers are written",
        "household/test_own_channel.py::test_a_stranger_on_it_waits",
    ),
    (INDEX, "a question with its answer", "docs/test_tutorial.py::test_every_step_has_something_that_is_run"),
    (INDEX, "Written from the code, so it cannot be out of date", "docs/test_reference.py::test_the_pages_are_what"),
)


@pytest.mark.requirement("side:claims")
@pytest.mark.parametrize(("page", "words", "proof"), CLAIMS, ids=[words[:40] for _, words, _ in CLAIMS])
def test_a_claim_is_still_made_and_still_proved(page: str, words: str, proof: str) -> None:
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())

    assert " ".join(words.split()) in text, "the sentence changed: look at what proves it"
    file, _, test = proof.partition("::")
    place = ROOT / file if file.endswith(".md") else ROOT / "tests" / file
    assert f"def {test}" in place.read_text(encoding="utf-8") if test else place.exists(), proof


def test_readme_is_read_in_one_go_and_what_explains_fits_on_eight_pages() -> None:
    assert len((ROOT / README).read_text(encoding="utf-8").splitlines()) <= 150
    assert len(list((ROOT / "docs" / "explanation").glob("*.md"))) <= 8
    assert len(list((ROOT / "docs" / "contracts").glob("*.md"))) == 5
