"""The files in forms that a provider took, taken apart by a library that is not ours."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import python_multipart

from postroom.testing import HttpProvider, TakenRequest


def form_files(provider: HttpProvider) -> list[tuple[str, bytes]]:
    return [file for one in provider.messages for file in files_of(one)]


def files_of(request: TakenRequest) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []

    def keep(one: Any) -> None:
        one.file_object.seek(0)
        found.append((one.file_name.decode(), one.file_object.read()))

    if request.headers.get("content-type", "").startswith("multipart/form-data"):
        names = {"Content-Type": request.headers["content-type"].encode()}
        python_multipart.parse_form(names, BytesIO(request.content), lambda field: None, keep)
    return found
