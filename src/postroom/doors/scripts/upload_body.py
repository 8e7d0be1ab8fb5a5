"""One file out of a `multipart/form-data` body, read piece by piece and never longer than allowed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from fastapi import Request
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect

from postroom.domain.errors import Code, FieldError, Refused
from postroom.work.files.fit import MOST_FILE_BYTES

MOST_UPLOAD_BYTES: Final = MOST_FILE_BYTES + 64 * 1024  # with the lines around the file
_FORM: Final = "multipart/form-data"


@asynccontextmanager
async def one_file(request: Request) -> AsyncIterator[UploadFile]:
    """Beyond a megabyte it lies in a temporary file; raises Refused for a body that is not one file."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise _wrong("body", f"must be {_FORM} with one file", "multipart_required")
    form = await _parsed(request)
    try:
        given = [(name, one) for name, one in form.multi_items()]
        if len(given) != 1 or not isinstance(given[0][1], UploadFile):
            raise _wrong("file", "must be the one field of the form, with a file name", "one_file_required")
        yield given[0][1]
    finally:
        await form.close()


async def _parsed(request: Request) -> FormData:
    parser = MultiPartParser(request.headers, _bounded(request), max_files=1, max_fields=1, max_part_size=1024)
    try:
        return await parser.parse()
    except MultiPartException:
        raise _wrong("body", f"is not {_FORM} with one file", "multipart_required") from None
    except ClientDisconnect:
        raise _wrong("body", "ended too early", "cut_off") from None


async def _bounded(request: Request) -> AsyncGenerator[bytes, None]:
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > MOST_UPLOAD_BYTES:
            raise Refused(Code.TOO_LARGE, f"a file has at most {MOST_FILE_BYTES:,} bytes")
        yield chunk


def _wrong(field: str, error: str, code: str) -> Refused:
    return Refused.of(Code.SCHEMA_INVALID, [FieldError(field, error, code)])
