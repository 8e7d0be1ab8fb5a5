"""The shell's Tab key: every shell gets its script, and the script gets our commands."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from postroom.cli.completion import OF_COMMANDS, OPTIONS, offer_of
from postroom.cli.known_words import begun
from postroom.programs.connect.known_clients import CLIENTS
from tests.app.living import QUICK, living
from tests.cli.command import postroom_beside
from tests.cli.walk import commands, options_of
from tests.services.ports import free_port

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
def test_a_real_bash_completes_commands_options_and_values(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTROOM_PORTS__API", str(free_port()))

    assert pressed("wh") == ["why"]
    assert pressed("people", "h") == ["history"]
    assert pressed("notify", "Hello", "--pri") == ["--priority"]
    assert pressed("notify", "Hello", "--priority", "") == ["high", "medium", "low"]
    assert pressed("notify", "Hello", "--as", "h") == ["health"]
    assert "telegram" in pressed("ask", "Deploy?", "--channel", "")
    assert pressed("people", "show", "Z") == [], "no household answers, and no one waits for it"


@pytest.mark.requirement("side:words-completion")
async def test_names_and_ids_come_from_the_household(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api = free_port()
    monkeypatch.setenv("POSTROOM_PORTS__API", str(api))
    async with living(home, QUICK, {"ports": {"api": api}}) as household:
        for name in ("Bob", "Bo Peep", "B$(touch pwned)"):
            assert (await postroom_beside("people", "add", name)).code == 0
        done = await postroom_beside("ask", "Deploy?", "--options", "yes,no", "--wait", "0")
        people = await asyncio.to_thread(pressed, "people", "show", "")
        question = await asyncio.to_thread(pressed, "answer", "")
        await household.notify()
        sent = await asyncio.to_thread(pressed, "why", "")
        monkeypatch.setenv("POSTROOM_URL", household.household.addresses["api"])
        monkeypatch.setenv("POSTROOM_TOKEN", household.token("operator"))
        elsewhere = await asyncio.to_thread(pressed, "notify", "Hello", "--to", "B")
        deliveries = {row["id"] for row in household.rows("delivery_requests")}

    assert done.code == 10
    assert "Bob" in people and len(people) == 4, "the others by their ids"
    assert all("$" not in one for one in people)
    assert len(question) == 1 and set(sent) & deliveries
    assert elsewhere == ["Bob"]


@pytest.mark.parametrize(
    "word", ["a b", "$(touch x)", "`x`", "a;b", "a'b", 'a"b', "a\nb", "(x)", "*", "a|b", "a:b", "\\", ""]
)
def test_what_a_shell_could_evaluate_is_not_offered(word: str) -> None:
    assert begun([(word, word), ("fine", word)], "") == [("fine", begun([("fine", word)], "")[0][1])]
    assert not set(begun([("fine", word)], "")[0][1]) & set("$`'\";()*|\\\n<>&:")


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
    assert {word for word, _ in offer(known["connect"].context_class(known["connect"]), "")} == set(CLIENTS)


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
