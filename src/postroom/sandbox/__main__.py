"""Run the sandbox alone: `python -m postroom.sandbox`."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from pathlib import Path

from postroom.sandbox.page import NOTICE
from postroom.sandbox.server import (
    DEFAULT_BOT_API_PORT,
    DEFAULT_IMAP_PORT,
    DEFAULT_SMTP_PORT,
    Sandbox,
    SandboxOptions,
)


def read_options(arguments: list[str]) -> SandboxOptions:
    parser = argparse.ArgumentParser(
        prog="python -m postroom.sandbox",
        description=f"A local Telegram Bot API, SMTP and IMAP server. {NOTICE}.",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--bot-api-port", type=int, default=DEFAULT_BOT_API_PORT, help="0 takes any free port")
    parser.add_argument("--smtp-port", type=int, default=DEFAULT_SMTP_PORT, help="0 takes any free port")
    parser.add_argument("--imap-port", type=int, default=DEFAULT_IMAP_PORT, help="0 takes any free port")
    parser.add_argument("--ledger", dest="ledger_path", type=Path, help="keeps what arrived; without it, memory")
    parser.add_argument("--token", help="the one bot token to accept; without it, any that looks like one")
    return SandboxOptions(**vars(parser.parse_args(arguments)))


async def run(options: SandboxOptions) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with Sandbox(options) as sandbox:
        sys.stdout.write(ready_line(sandbox) + "\n")
        sys.stdout.flush()
        await stop.wait()


def ready_line(sandbox: Sandbox) -> str:
    return json.dumps(
        {
            "sandbox": True,
            "notice": NOTICE,
            "host": sandbox.options.host,
            "bot_api_port": sandbox.bot_api_port,
            "smtp_port": sandbox.smtp_port,
            "imap_port": sandbox.imap_port,
            "url": f"{sandbox.bot_api_url}/sandbox/",
        }
    )


if __name__ == "__main__":
    asyncio.run(run(read_options(sys.argv[1:])))
