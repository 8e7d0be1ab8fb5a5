from __future__ import annotations

import os
import subprocess

from postroom.world.runtimes.stragglers import kill_stragglers


def sleeper(session_id: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "1000"], env={"POSTROOM_SESSION_ID": session_id, "PATH": os.defpath})


def test_a_process_is_found_by_the_session_it_was_started_for_and_no_other_is() -> None:
    mine, other = sleeper("straggler-1"), sleeper("straggler-10")
    try:
        assert kill_stragglers("straggler-1") == 1
        assert mine.wait(10) == -9
        assert other.poll() is None
    finally:
        assert kill_stragglers("straggler-10") == 1
        other.wait(10)


def test_nothing_to_find_is_no_error() -> None:
    assert kill_stragglers("straggler-never") == 0
