"""A mistyped name is answered with the one that was probably meant."""

from __future__ import annotations

import pytest

from tests.cli.command import postroom

pytestmark = pytest.mark.usefixtures("home")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param(["up", "--only", "mesenger"], "no part 'mesenger', did you mean 'messenger'?", id="part"),
        pytest.param(["notify", "x", "--as", "helth"], "no butler 'helth', did you mean 'health'?", id="butler"),
        pytest.param(["notify", "x", "-c", "telegran"], "no 'telegran', did you mean 'telegram'?", id="channel"),
        pytest.param(
            ["notify", "x", "-c", "pigeon"],
            "no 'pigeon'. There are auto, email, telegram.",
            id="nothing near",
        ),
        pytest.param(["notify", "x", "--priority", "hihg"], "no 'hihg', did you mean 'high'?", id="priority"),
        pytest.param(
            ["connectors", "export", "chatgtp"], "no connector 'chatgtp', did you mean 'chatgpt'?", id="connector"
        ),
        pytest.param(["notfy", "x"], "Did you mean 'notify'?", id="command"),
        pytest.param(["notify", "x", "--chanel", "email"], "--channel", id="option"),
        pytest.param(["contacts", "import", "people.xls"], "neither a vCard (.vcf) nor a table (.csv)", id="file"),
    ],
)
def test_a_mistyped_name_is_answered_with_the_nearest(arguments: list[str], sentence: str) -> None:
    done = postroom(*arguments)

    assert done.code != 0
    assert sentence in " ".join(done.error.replace("│", " ").split())


def test_a_mistyped_setting_is_answered_with_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTROOM_RETRY__MAX_ATEMPTS", "5")

    assert "did you mean 'max_attempts'?" in postroom("config").error
