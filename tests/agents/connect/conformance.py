"""The MCP conformance program: how it is run against a part of a household, and what it wants that no product has."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from tests.agents.connect.real_clients import real_client

NEWEST = "0.2.0-alpha.12"  # the first that knows both eras; it needs Node 22
SECONDS = 240

# Checks that cannot pass, by what is missing; docs/explanation/asking.md says it of its scenarios.
MISSING = {
    "its sample tools": {
        *("tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource"),
        *("tools-call-mixed-content", "tools-call-error", "tools-call-with-progress", "tools-call-sampling"),
        *("tools-call-elicitation", "elicitation-sep1034-general", "elicitation-sep1330-general"),
        *("json-schema-2020-12-tool-found", "sep-2322-elicitation-incomplete", "sep-2322-list-roots-incomplete"),
        *("sep-2322-sampling-incomplete", "sep-2322-respect-client-capabilities", "sep-2322-multi-round-r1"),
        *("sep-2322-multiple-inputs-incomplete", "sep-2322-request-state-incomplete"),
        *("sep-2322-result-type-included", "sep-2322-reject-tampered-state"),
        *("sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400"),
        *("sep-2575-http-server-no-independent-requests-on-stream", "sep-2575-server-no-log-without-loglevel"),
        *("sep-2243-server-no-xmcp-tool", "sep-2243-server-decode-base64", "sep-2243-server-validate-param-match"),
        *("sep-2243-server-reject-invalid-param-chars", "sep-2243-server-reject-param-mismatch"),
    },
    "its sample tasks": {
        *("sep-2663-server-rejects-undeclared-client", "tasks-per-request-meta-opt-in"),
        *("tasks-server-directed-creation-no-hint", "sep-2663-legacy-task-param-ignored"),
        *("tasks-immediate-result-shortcut", "tasks-result-type-complete-on-non-task-responses"),
        *("sep-2663-durable-create-strong-consistency", "tasks-sync-tool-call", "sep-2663-tasks-get-status-working"),
        *("sep-2663-result-type-task-on-create", "sep-2663-tasks-get-status-completed"),
        *("sep-2663-tool-error-uses-completed-status", "sep-2663-tasks-get-status-failed"),
        *("sep-2663-cancel-ack-empty-result", "tasks-cancel-terminal-idempotent-ack"),
        *("sep-2663-mrtr-synchronous-before-task-creation", "sep-2663-tasks-get-status-input-required"),
        *("tasks-mrtr-tasks-update-resumes", "tasks-mrtr-partial-fulfillment"),
        *("tasks-headers-tolerate-mcp-method-on-tools-call", "sep-2663-routing-headers-accepted-on-tasks-get"),
        *("sep-2663-server-rejects-mismatched-mcp-name-on-tasks-get", "tasks-request-state-removal-setup"),
        *("sep-2663-server-returns-missing-capability-when-required", "tasks-wire-field-renames"),
        *("tasks-no-early-ttl-expiry", "tasks-no-related-task-meta-on-inlined-result"),
    },
    "its sample prompts": {
        *("prompts-get-simple", "prompts-get-with-args", "prompts-get-embedded-resource", "prompts-get-with-image"),
        "sep-2322-non-tool-incomplete",
    },
    "its sample resources": {"resources-read-text", "resources-read-binary", "resources-templates-read"},
    "an ability that no server has to have": {
        *("completion-complete", "logging-set-level", "tools-call-with-logging"),
        *("resources-subscribe", "resources-unsubscribe"),
    },
}


async def conformance(url: str, revision: str, folder: Path) -> dict[str, str]:
    """Every check with its status. Skips the test where the program, or its Node, is not there."""
    program = real_client("conformance")
    environment = {**os.environ, "PATH": os.pathsep.join([str(Path(program).parent), os.environ["PATH"]])}
    if (version := await _run(environment, program, "--version")) != NEWEST:
        pytest.skip(f"conformance {NEWEST} with Node 22 is wanted, and here is {version or 'another Node'}")
    await _run(environment, program, "server", "--url", url, "--requirements", revision, "-o", str(folder))
    found = [check for file in folder.glob("*/checks.json") for check in json.loads(file.read_text())]
    return {one["id"]: one["status"] for one in sorted(found, key=lambda one: one["status"] == "FAILURE")}


async def _run(environment: dict[str, str], *words: str) -> str:
    quiet = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        *words, env=environment, stdin=quiet, stdout=asyncio.subprocess.PIPE, stderr=quiet
    )
    try:
        async with asyncio.timeout(SECONDS):
            said, _ = await process.communicate()
    finally:
        with suppress(ProcessLookupError):
            process.kill()
    return said.decode().strip()


@asynccontextmanager
async def with_token(port: int, token: str) -> AsyncIterator[str]:
    """The address at which every call gets this token, for a program that has no place for one; all else stays."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, OSError):
            head = await reader.readuntil(b"\r\n\r\n")
            first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
            kept = [line for line in lines if not line.lower().startswith(b"connection:")]
            own = [b"Authorization: Bearer " + token.encode(), b"Connection: close"]
            there, to_there = await asyncio.open_connection("127.0.0.1", port)
            to_there.write(b"\r\n".join([first, *own, *kept]) + b"\r\n\r\n")
            await asyncio.gather(_carry(reader, to_there), _carry(there, writer))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while said := await reader.read(65536):
            writer.write(said)
            await writer.drain()
    writer.close()
