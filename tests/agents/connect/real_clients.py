"""The clients' own programs: as `make test` installs them, on PATH, or where POSTROOM_TEST_CLIENTS says."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

INSTALLED = Path(sys.prefix) / "clients" / "node_modules" / ".bin"


def real_client(name: str) -> str:
    """Skips the test, with the reason, where it is not installed."""
    folders = [os.environ.get("POSTROOM_TEST_CLIENTS", ""), str(INSTALLED), os.environ.get("PATH", "")]
    found = shutil.which(name, path=os.pathsep.join(folders))
    if found is None:
        pytest.skip(f"{name} is not installed: npm could not, or POSTROOM_TEST_CLIENTS has to name the folder it is in")
    return found
