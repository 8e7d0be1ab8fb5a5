"""The shell's Tab key: every shell gets its script, and the script gets our commands."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


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
