from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import aiohttp
import pytest
from tests.patience import PATIENCE_SECONDS

from postroom.sandbox.__main__ import read_options

SOURCE = Path(__file__).parents[2] / "src"


async def test_it_runs_alone_names_its_ports_and_stops_on_sigterm(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "postroom.sandbox", "--bot-api-port", "0", "--smtp-port", "0", "--imap-port", "0"),
        *("--ledger", str(tmp_path / "sandbox.db")),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
    )
    assert process.stdout is not None
    try:
        ready = json.loads(await asyncio.wait_for(process.stdout.readline(), PATIENCE_SECONDS))
        async with aiohttp.ClientSession() as http, http.get(ready["url"]) as answer:
            assert "SANDBOX" in await answer.text()
        process.send_signal(signal.SIGTERM)
        rest, errors = await asyncio.wait_for(process.communicate(), PATIENCE_SECONDS)
    finally:
        if process.returncode is None:
            process.kill()

    assert (process.returncode, rest, errors) == (0, b"", b"")
    assert ready["sandbox"] is True and ready["smtp_port"] > 0
    assert ready["notice"] == "SANDBOX: nothing leaves this machine"


@pytest.mark.parametrize("arguments", [["--bot-api-port", "x"], ["--nonsense"]])
def test_wrong_options_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        read_options(arguments)

    assert "usage:" in capsys.readouterr().err
