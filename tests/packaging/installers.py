"""Installers as a person types them; what they need comes from their cache, or from the index where there is one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

UV = str(Path(sys.executable).with_name("uv"))
_PATIENCE_SECONDS = 150


def install(words: Sequence[str | Path], environment: Mapping[str, str], folder: Path) -> None:
    """Skips, with the reason, where neither has everything."""
    for offline in ({"UV_OFFLINE": "1"}, {"UV_HTTP_TIMEOUT": "20"}):
        done = subprocess.run(
            words,
            cwd=folder,
            env={**environment, **offline},
            capture_output=True,
            text=True,
            timeout=_PATIENCE_SECONDS,
            check=False,
        )
        if done.returncode == 0:
            return
    if "network" in done.stderr or "connect" in done.stderr or "request" in done.stderr:
        pytest.skip(f"no package index can be reached, and the cache has not everything: {done.stderr[-200:]}")
    raise AssertionError(done.stdout + done.stderr)
