"""The checks of the documentation would notice a command that does not exist."""

from __future__ import annotations

import pytest

from tests.docs.commands import check, command_lines


@pytest.mark.parametrize(
    "line",
    [
        "postroom up --only messenger",
        "postroom trace ID",
        'postroom notify "Hello" --as health',
        "make test",
        "pip install '.[postgres,redis]'",
        'claude mcp add --transport http postroom http://127.0.0.1:40103/mcp --header "Authorization: Bearer x"',
        "codex mcp add postroom --url http://127.0.0.1:40103/mcp --bearer-token-env-var POSTROOM_TOKEN",
        "postroom --install-completion",
    ],
)
def test_a_command_that_exists_passes(line: str) -> None:
    [words] = command_lines(line)

    check(words)


@pytest.mark.parametrize(
    "line",
    [
        "postroom upp",
        "postroom up --onyl messenger",
        "postroom trace",
        "postroom token made --user ada",
        "make tset",
        "pip install '.[postgress]'",
        "pip install postroom",
        "/opt/postroom/bin/pip install 'postroom[redis]'",
        "claude mcp add postroom http://127.0.0.1:40103",
        "codex mcp add postroom http://127.0.0.1:40103/mcp",
        "frobnicate --all",
    ],
)
def test_a_command_that_does_not_exist_is_found(line: str) -> None:
    [words] = command_lines(line)

    with pytest.raises((AssertionError, ValueError)):
        check(words)
