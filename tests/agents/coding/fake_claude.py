"""
What Claude Code's documentation says of `claude -p` and hooks that defer, without a model: one call, then words.

https://code.claude.com/docs/en/hooks, "Defer a tool call for later".
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

CALL = {"id": "toolu_01", "name": "Bash", "input": {"command": "touch done.txt"}}


def value(words: list[str], option: str) -> str:
    return words[words.index(option) + 1] if option in words else ""


def main(words: list[str]) -> int:
    session = value(words, "--session-id") or value(words, "--resume")
    transcript = Path(os.environ["HOME"]) / f"{session}.jsonl"
    if "--resume" in words and (not transcript.exists() or "deferred" not in transcript.read_text()):
        sys.stderr.write("Error: No deferred tool marker found in the resumed session.\n")
        return 1
    if "--resume" not in words and transcript.exists():
        sys.stderr.write("Error: Session ID is already in use.\n")
        return 1
    with transcript.open("a") as file:
        message = {"id": "msg_1", "role": "assistant", "content": [{"type": "tool_use", **CALL}]}
        file.write(json.dumps({"type": "assistant", "message": message}) + "\n")
    decision = hooked(session, transcript, json.loads(value(words, "--settings")))
    with transcript.open("a") as file:
        file.write(json.dumps({"marker": "deferred" if decision == "defer" else "over"}) + "\n")
    ended(session, decision)
    return 0


def hooked(session: str, transcript: Path, settings: dict[str, Any]) -> str:
    call = {"tool_name": CALL["name"], "tool_input": CALL["input"], "tool_use_id": CALL["id"]}
    payload = {
        "session_id": session,
        "transcript_path": str(transcript),
        "cwd": str(Path.cwd()),
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        **call,
    }
    command = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    done = subprocess.run(command, shell=True, input=json.dumps(payload), capture_output=True, text=True, check=True)
    said = json.loads(done.stdout or "{}").get("hookSpecificOutput", {})
    return str(said.get("permissionDecision", ""))


def ended(session: str, decision: str) -> None:
    result: dict[str, Any] = {"type": "result", "subtype": "success", "is_error": False, "session_id": session}
    if decision == "defer":
        result |= {"result": "", "stop_reason": "tool_deferred", "deferred_tool_use": CALL}
    else:
        if decision == "allow":
            subprocess.run(str(CALL["input"]["command"]), shell=True, check=True)
        result |= {"result": f"The call was {decision or 'refused'}.", "stop_reason": "end_turn"}
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
