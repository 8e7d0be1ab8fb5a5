"""
A program that can be installed as `codex`, `claude` or `gemini`.

It reads its configuration as the real one does, refuses what the real one
refuses, talks MCP to the server it was given, and prints its events in the
real one's form. Its "model" obeys the steps that stand as JSON in the request:

    {"call": tool, "arguments": {…}}   call a tool
    {"meet": port, "as": name}         say the name to a port and wait for an answer
    {"exit": code}                     leave at once, without a last word
    {"hang": true}                     wait for ever
    {"flood": count}                   print that many useless lines
    {"show": true}                     say where it runs and with what
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import socket
import sys
import tomllib
from pathlib import Path
from typing import Any

from tests.butlers.runtimes.plain_client import call_tool

NAME = Path(sys.argv[0]).name


class Setup:
    """What the program knows after reading its configuration."""

    def __init__(self, server: str, url: str, authorization: str, may_call: bool = True) -> None:
        self.server = server
        self.url = url
        self.headers = {"Authorization": authorization}
        self.may_call = may_call


def read_codex(arguments: list[str]) -> Setup:
    parser = argparse.ArgumentParser(prog="codex", allow_abbrev=False)
    parser.add_argument("command", choices=["exec"])
    parser.add_argument("prompt", choices=["-"])
    for flag in ("--json", "--ephemeral", "--skip-git-repo-check", "--ignore-user-config", "--ignore-rules"):
        parser.add_argument(flag, action="store_true", required=flag == "--json")
    parser.add_argument("--color", choices=["always", "never", "auto"])
    parser.add_argument("--sandbox", choices=["read-only", "workspace-write", "danger-full-access"])
    parser.add_argument("--cd", type=Path)
    parser.add_argument("--model")
    parser.add_argument("-c", dest="config", action="append", default=[])
    options = parser.parse_args(arguments)
    config: dict[str, Any] = {}
    for setting in options.config:
        merge(config, tomllib.loads(setting))
    ((name, server),) = config["mcp_servers"].items()
    token = os.environ[server["bearer_token_env_var"]]
    return Setup(name, server["url"], f"Bearer {token}", server.get("default_tools_approval_mode") == "approve")


def read_claude(arguments: list[str]) -> Setup:
    parser = argparse.ArgumentParser(prog="claude", allow_abbrev=False)
    parser.add_argument("-p", dest="print", action="store_true", required=True)
    parser.add_argument("--output-format", choices=["text", "json", "stream-json"])
    for flag in ("--verbose", "--strict-mcp-config", "--no-session-persistence", "--disable-slash-commands"):
        parser.add_argument(flag, action="store_true")
    for option in ("--mcp-config", "--setting-sources", "--tools", "--allowedTools", "--model"):
        parser.add_argument(option)
    options = parser.parse_args(arguments)
    if options.output_format == "stream-json" and not options.verbose:
        sys.exit("Error: When using --print, --output-format=stream-json requires --verbose")
    servers = json.loads(expanded(Path(options.mcp_config).read_text()))["mcpServers"]
    ((name, server),) = servers.items()
    assert server["type"] == "http"
    return Setup(name, server["url"], server["headers"]["Authorization"], options.allowedTools == f"mcp__{name}")


def read_gemini(arguments: list[str]) -> Setup:
    parser = argparse.ArgumentParser(prog="gemini", allow_abbrev=False)
    parser.add_argument("--output-format", choices=["text", "json", "stream-json"])
    parser.add_argument("--skip-trust", action="store_true")
    for option in ("--extensions", "--allowed-mcp-server-names", "--admin-policy", "--model"):
        parser.add_argument(option)
    options = parser.parse_args(arguments)
    settings = json.loads(expanded((Path.home() / ".gemini" / "settings.json").read_text()))
    ((name, server),) = settings["mcpServers"].items()
    rules = tomllib.loads(Path(options.admin_policy).read_text())["rule"]
    best = max((rule for rule in rules if rule.get("mcpName", name) == name), key=lambda rule: rule["priority"])
    allowed = options.allowed_mcp_server_names == name and best["decision"] == "allow"
    return Setup(name, server["url"], server["headers"]["Authorization"], allowed)


def merge(into: dict[str, Any], more: dict[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = value


def expanded(text: str) -> str:
    return re.sub(r"\$(\{\w+\}|\w+)", lambda match: os.environ.get(match[1].strip("{}"), ""), text)


def say(event: dict[str, Any]) -> None:
    print(json.dumps(event), flush=True)


class Codex:
    def begin(self, setup: Setup) -> None:
        say({"type": "thread.started", "thread_id": "t"})
        say({"type": "item.completed", "item": {"id": "item_0", "type": "error", "message": "a warning"}})
        say({"type": "turn.started"})

    def called(self, setup: Setup, number: int, step: dict[str, Any], answer: Any, error: str | None) -> None:
        item = {
            "id": f"item_{number}",
            "type": "mcp_tool_call",
            "server": setup.server,
            "tool": step["call"],
            "arguments": step["arguments"],
            "result": None if error else {"content": [], "structured_content": answer},
            "error": {"message": error} if error else None,
            "status": "failed" if error else "completed",
        }
        say({"type": "item.completed", "item": item})

    def end(self, text: str) -> None:
        say({"type": "item.completed", "item": {"id": "item_9", "type": "agent_message", "text": text}})
        say({"type": "turn.completed", "usage": {"input_tokens": 20, "cached_input_tokens": 0, "output_tokens": 10}})


class Claude:
    def begin(self, setup: Setup) -> None:
        servers = [{"name": setup.server, "status": "connected"}]
        say({"type": "system", "subtype": "init", "mcp_servers": servers, "tools": []})

    def called(self, setup: Setup, number: int, step: dict[str, Any], answer: Any, error: str | None) -> None:
        name = f"mcp__{setup.server}__{step['call']}"
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": step["arguments"]}
        say({"type": "assistant", "message": {"role": "assistant", "content": [use]}})
        result: dict[str, Any] = {"tool_use_id": f"toolu_{number}", "type": "tool_result"}
        result |= {"content": error, "is_error": True} if error else {"content": json.dumps(answer)}
        say({"type": "user", "message": {"role": "user", "content": [result]}})

    def end(self, text: str) -> None:
        usage = {"input_tokens": 20, "output_tokens": 10}
        say({"type": "result", "subtype": "success", "is_error": False, "result": text, "usage": usage})


class Gemini:
    def begin(self, setup: Setup) -> None:
        say({"type": "init", "session_id": "s", "model": "m"})

    def called(self, setup: Setup, number: int, step: dict[str, Any], answer: Any, error: str | None) -> None:
        name = f"mcp_{setup.server}_{step['call']}"
        say({"type": "tool_use", "tool_name": name, "tool_id": f"i{number}", "parameters": step["arguments"]})
        outcome = {"status": "error", "error": {"message": error}} if error else {"status": "success"}
        say({"type": "tool_result", "tool_id": f"i{number}", "output": json.dumps(answer), **outcome})

    def end(self, text: str) -> None:
        say({"type": "message", "role": "assistant", "content": text, "delta": True})
        say({"type": "result", "status": "success", "stats": {"input_tokens": 20, "output_tokens": 10}})


PROGRAMS = {
    "codex": (read_codex, Codex()),
    "claude": (read_claude, Claude()),
    "gemini": (read_gemini, Gemini()),
}


def obey(setup: Setup, script: dict[str, Any], voice: Any) -> str:
    text = script.get("say", "Done.")
    for number, step in enumerate(script["steps"], 1):
        if "call" in step:
            call(setup, number, step, voice)
        elif "meet" in step:
            meet(step)
        elif "exit" in step:
            os._exit(step["exit"])
        elif "hang" in step:
            signal.pause()
        elif "flood" in step:
            print(("x" * 1023 + "\n") * step["flood"], flush=True)
        elif "show" in step:
            text = json.dumps({"argv": sys.argv[1:], "environment": dict(os.environ), "cwd": str(Path.cwd())})
    return text


def call(setup: Setup, number: int, step: dict[str, Any], voice: Any) -> None:
    if not setup.may_call:
        voice.called(setup, number, step, None, "user cancelled MCP tool call")
        return
    try:
        result = call_tool(setup.url, setup.headers, step["call"], step["arguments"])
    except Exception as error:
        voice.called(setup, number, step, None, str(error))
        return
    failed = "the tool failed" if result.get("isError") else None
    voice.called(setup, number, step, result.get("structuredContent"), failed)


def meet(step: dict[str, Any]) -> None:
    with socket.create_connection(("127.0.0.1", step["meet"])) as line, line.makefile("rw") as told:
        told.write(f"{step['as']}\n")
        told.flush()
        told.readline()


def main() -> None:
    read, voice = PROGRAMS[NAME]
    setup = read(sys.argv[1:])
    request = sys.stdin.read().split("---\n", 1)[1]
    voice.begin(setup)
    script, _ = json.JSONDecoder().raw_decode(request)  # what came with the request may follow it
    voice.end(obey(setup, script, voice))
