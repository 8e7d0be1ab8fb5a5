"""The clients' own programs, where they are installed: on PATH, or in the folders that POSTROOM_TEST_CLIENTS names."""

from __future__ import annotations

import os
import shutil

import pytest


def real_client(name: str) -> str:
    """Skips the test, with the reason, where it is not installed."""
    folders = os.pathsep.join([os.environ.get("POSTROOM_TEST_CLIENTS", ""), os.environ.get("PATH", "")])
    found = shutil.which(name, path=folders)
    if found is None:
        pytest.skip(f"{name} is not installed; POSTROOM_TEST_CLIENTS may name the folder it is in")
    return found
