"""What a file is, by its bytes."""

from __future__ import annotations

import io
import zipfile

import pytest

from postroom.work.files.media_type import BINARY, Sniffer, agreed_type, is_dangerous, name_contradicts

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 20


def zipped(*names: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in names:
            archive.writestr(name, "content")
    return packed.getvalue()


def found(content: bytes, name: str = "") -> str:
    sniffer = Sniffer()
    for start in range(0, len(content), 7):
        sniffer.feed(content[start : start + 7])
    return sniffer.found(name)


@pytest.mark.parametrize(
    ("content", "name", "kind"),
    [
        (PNG, "x.png", "image/png"),
        (b"\xff\xd8\xff\xe0" + b"\x00" * 9, "", "image/jpeg"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "", "image/webp"),
        (b"%PDF-1.7\n", "", "application/pdf"),
        (zipped("a.txt"), "picture.png", "application/zip"),
        (
            zipped("[Content_Types].xml"),
            "report.docx",
            f"{'application/vnd.openxmlformats-officedocument.'}wordprocessingml.document",
        ),
        (zipped("evil.exe"), "report.docx", "application/zip"),
        (b"\x7fELF\x02\x01\x01\x00", "", "application/x-executable"),
        (b"MZ\x90\x00\x03", "", "application/x-msdownload"),
        (b"MZ is a text, too", "", "text/plain"),
        (b"BM as well", "", "text/plain"),
        (b"#!/bin/sh\nrm -rf /\n", "notes.txt", "text/x-shellscript"),
        (b"<!doctype html><script>alert(1)</script>", "a.txt", "text/html"),
        (b'<?xml version="1.0"?>\n<svg xmlns="x" onload="alert(1)">', "a.png", "image/svg+xml"),
        ("Grüße, 世界\n".encode(), "a.md", "text/markdown"),
        (b"a,b\n1,2\n", "a.csv", "text/csv"),
        (b'{"a": 1}', "a.json", "application/json"),
        (b"plain", "a.html", "text/plain"),
        (b"\x00\x01\x02", "a.bin", BINARY),
        (b"caf\xe9", "a.txt", BINARY),
        ("cut in the middle é".encode()[:-1], "", BINARY),
    ],
)
def test_the_bytes_say_what_it_is(content: bytes, name: str, kind: str) -> None:
    assert found(content, name) == kind


@pytest.mark.requirement("content:files-type-by-content")
@pytest.mark.parametrize(
    ("real", "declared", "agreed"),
    [
        ("image/png", None, "image/png"),
        ("image/png", "image/png", "image/png"),
        ("image/png", BINARY, "image/png"),
        ("image/png", "image/jpeg", None),
        ("application/zip", "image/png", None),
        ("text/plain", "text/csv", "text/csv"),
        ("text/html", "text/plain", "text/plain"),
        ("text/plain", "image/png", None),
        ("text/plain", "application/zip", None),
        (BINARY, "application/x-parquet", "application/x-parquet"),
        (BINARY, "image/png", None),
        (BINARY, "text/plain", None),
    ],
)
def test_what_is_declared_counts_only_as_far_as_the_bytes_agree(
    real: str, declared: str | None, agreed: str | None
) -> None:
    assert agreed_type(real, declared) == agreed


@pytest.mark.parametrize(
    ("name", "real", "contradicts"),
    [
        ("a.png", "application/zip", True),
        ("a.png", "text/plain", True),
        ("a.txt", "application/x-executable", True),
        ("a.pdf", "application/zip", True),
        ("a.png", "image/jpeg", False),
        ("a.txt", "text/csv", False),
        ("a.unknown", "application/zip", False),
        ("a", "application/zip", False),
    ],
)
def test_a_name_that_promises_something_else_is_noticed(name: str, real: str, contradicts: bool) -> None:
    assert name_contradicts(name, real) is contradicts


@pytest.mark.parametrize(
    ("kind", "name", "dangerous"),
    [
        ("application/zip", "a.zip", True),
        ("application/x-executable", "tool", True),
        ("text/plain", "report.pdf.bat", True),
        ("text/html", "a.txt", True),
        ("image/svg+xml", "a", True),
        ("image/png", "a.png", False),
        ("text/plain", "a.log", False),
        ("application/pdf", "a.pdf", False),
    ],
)
def test_archives_and_what_a_machine_may_run_are_dangerous(kind: str, name: str, dangerous: bool) -> None:
    assert is_dangerous(kind, name) is dangerous
