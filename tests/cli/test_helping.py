"""The shell's Tab key: every shell gets its script, and the script gets our commands."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from postroom.agents.connect.clients import CLIENTS
from postroom.cli.helping import OF_COMMANDS, OPTIONS, offer_of
from tests.cli.walk import commands, options_of

SCRIPT = """
eval "$(_POSTROOM_COMPLETE=source_bash postroom)"
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_postroom_completion postroom
printf '%s\\n' "${COMPREPLY[@]}"
"""


def run(**variables: str) -> str:
    """As a shell asks: through variables, by the name of the command."""
    code = "import sys; sys.argv = ['postroom']; from postroom.__main__ import main; main()"
    environment = {**os.environ, **variables}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    return done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_a_script(shell: str) -> None:
    assert "_POSTROOM_COMPLETE" in run(_POSTROOM_COMPLETE=f"source_{shell}")


def test_tab_completes_commands_and_options() -> None:
    commands = run(_POSTROOM_COMPLETE="complete_bash", COMP_WORDS="postroom wh", COMP_CWORD="1")
    options = run(_POSTROOM_COMPLETE="complete_bash", COMP_WORDS="postroom notify --ch", COMP_CWORD="2")

    assert commands.split() == ["why"]
    assert options.split() == ["--channel"]


def pressed(*words: str) -> list[str]:
    """What a real bash offers when Tab is pressed after these words, of which the last is not finished."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "--norc", "-c", SCRIPT, "bash", "postroom", *words],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.requirement("side:words-completion")
def test_a_real_bash_completes_commands_options_and_fixed_words() -> None:
    assert pressed("wh") == ["why"]
    assert pressed("people", "h") == ["history"]
    assert pressed("notify", "Hello", "--pri") == ["--priority"]
    assert pressed("notify", "Hello", "--priority", "") == ["high", "medium", "low"]
    assert "claude" in pressed("connect", "")


def test_the_table_speaks_of_what_there_is() -> None:
    known = commands()
    everywhere = {option for one in known.values() for option in options_of(one)}

    assert set(OPTIONS) <= everywhere
    for name, parameter in OF_COMMANDS:
        named = {one for found in known[name].params for one in (*found.opts, found.name)}
        assert parameter in named, f"{name} has no {parameter}"
    client = next(one for one in known["connect"].params if one.name == "client")
    offer = offer_of("connect", client)
    assert offer is not None
    assert set(offer) == set(CLIENTS)


@pytest.mark.parametrize(
    ("shell", "words"),
    [
        ("zsh", 'eval "$(_POSTROOM_COMPLETE=source_zsh postroom)"; whence -w _postroom_completion'),
        ("fish", "_POSTROOM_COMPLETE=source_fish postroom | source; complete -C 'postroom wh'"),
    ],
)
def test_other_shells_take_their_script(shell: str, words: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not here")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    start = "autoload -Uz compinit; compinit -u; " if shell == "zsh" else ""

    done = subprocess.run([shell, "-c", start + words], env={**os.environ, "PATH": path}, timeout=60, check=False)

    assert done.returncode == 0
