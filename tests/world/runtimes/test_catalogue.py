"""What holds for every runtime."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.world.runtimes.orders import order, recording

from postroom.domain.runtime import Runtime
from postroom.domain.transcript import document
from postroom.world.runtimes.catalogue import RUNTIMES

every_runtime = pytest.mark.parametrize("runtime", RUNTIMES.values(), ids=list(RUNTIMES))
words = st.sampled_from(["type", "item", "message", "content", "result", "status", "error", "stats", "usage", "id"])
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
kinds = st.sampled_from(
    ["item.completed", "turn.completed", "assistant", "user", "result", "tool_use", "system", "error"]
)


def test_there_are_three() -> None:
    assert {name: runtime.name for name, runtime in RUNTIMES.items()} == {
        "codex": "codex",
        "claude": "claude",
        "gemini": "gemini",
    }


@every_runtime
def test_neither_prompt_nor_token_nor_key_is_on_the_command_line_or_in_a_file(runtime: Runtime) -> None:
    keys = {name: f"canary-{name}" for name in runtime.credential_names}
    launch = runtime.launch(order(credentials=keys))

    for text in (*launch.argv, *launch.files.values(), repr(launch), repr(order(credentials=keys))):
        assert "canary" not in text
    assert launch.stdin == "canary-prompt"
    assert launch.environment["POSTROOM_SESSION_TOKEN"] == "pr_session_canary"


@every_runtime
def test_only_declared_credentials_are_passed_on_and_none_can_replace_ours(runtime: Runtime) -> None:
    first = runtime.credential_names[0]
    launch = runtime.launch(order(credentials={first: "k", "HOME": "/elsewhere", "AWS_SECRET_ACCESS_KEY": "no"}))

    assert launch.environment[first] == "k"
    assert launch.environment["HOME"] == "/s/home"
    assert "AWS_SECRET_ACCESS_KEY" not in launch.environment
    assert "PATH" not in launch.environment


@every_runtime
def test_without_a_model_the_program_chooses(runtime: Runtime) -> None:
    assert "--model" not in runtime.launch(order(model=None)).argv


@every_runtime
def test_noise_between_the_events_is_passed_over(runtime: Runtime) -> None:
    clean = recording(runtime.name)
    noisy = b"WARNING: hello\n\xff\xfe\n[1, 2]\n" + clean.replace(b"\n", b"\nnull\n{broken\n") + b"[" * 20_000

    assert runtime.read(noisy) == runtime.read(clean)


@given(kinds, st.dictionaries(words, values, max_size=4))
def test_nothing_a_program_prints_breaks_the_reading(kind: str, event: dict[str, Any]) -> None:
    for runtime in RUNTIMES.values():
        json.dumps(document(runtime.read(json.dumps({**event, "type": kind}).encode())))


@every_runtime
def test_an_endless_transcript_is_kept_in_part(runtime: Runtime) -> None:
    first, *rest = recording(runtime.name).splitlines(keepends=True)
    flood = first + b"".join(
        line.replace(b"toolu_1", b"t%d" % n).replace(b'_0"', b'%d"' % n) for n in range(500) for line in rest
    )

    kept = document(runtime.read(flood))

    assert len(json.dumps(kept)) < 700_000
    assert len(kept["tool_calls"]) <= 100
