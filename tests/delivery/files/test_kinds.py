"""Names of files that came from anybody."""

from __future__ import annotations

import io
import unicodedata
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.delivery.files.kinds import (
    BINARY,
    MAX_NAME_BYTES,
    MOST_PREVIEW_CHARACTERS,
    SecretScan,
    Sniffer,
    agreed_type,
    clean_name,
    extension,
    is_dangerous,
    name_contradicts,
    preview,
    shown_as_picture,
)


@pytest.mark.parametrize(
    ("given_name", "name"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\ann\\notes.txt", "notes.txt"),
        ("report\u202efdp.exe", "reportfdp.exe"),
        ("re\x00port\r\n.txt", "report .txt"),
        ("report.pdf.exe", "report.pdf.exe"),
        ("in\u200bvisible.png", "invisible.png"),
        ('a"b<c>.txt', "a_b_c_.txt"),
        ("...", "file"),
        ("", "file"),
        (".bashrc", "bashrc"),
        ("ü" * 200 + ".png", "ü" * 73 + ".png"),
    ],
)
def test_a_name_has_no_path_and_nothing_that_turns_it_around(given_name: str, name: str) -> None:
    assert clean_name(given_name) == name


@given(st.text(max_size=400))
def test_whatever_was_given_the_name_is_one_short_line_and_stays_as_it_is(text: str) -> None:
    name = clean_name(text)

    assert name and len(name.encode()) <= MAX_NAME_BYTES and clean_name(name) == name
    assert not {"/", "\\"} & set(name)
    assert not [one for one in name if unicodedata.category(one) in ("Cc", "Cf", "Cs")]


@pytest.mark.parametrize(("name", "last"), [("a.TXT", "txt"), ("a", ""), ("a.tar.gz", "gz"), (".x", "")])
def test_the_extension_is_what_comes_last(name: str, last: str) -> None:
    assert extension(name) == last


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


def test_a_text_is_shown_from_its_beginning_and_bounded() -> None:
    assert preview(b"short", "text/plain") == "short"
    assert preview("ä".encode() * 10_000, "text/plain") == "ä" * MOST_PREVIEW_CHARACTERS + "…"


def test_other_bytes_are_dumped_as_text() -> None:
    assert preview(b"PK\x03\x04<script>", "application/zip").endswith("PK..<script>")
    assert preview(b"\x00" * 1000, "application/octet-stream").endswith("\n…")
    assert preview(b"\x89PNG\r\n\x1a\n", "image/png") == ""


def test_only_a_picture_by_its_bytes_is_shown_as_one() -> None:
    assert shown_as_picture(b"\x89PNG\r\n\x1a\n\x00") == "image/png"
    assert shown_as_picture(b"<svg onload=alert(1)>") is None
    assert shown_as_picture(b"PK\x03\x04") is None


SECRETS = [
    b"-----BEGIN " + b"OPENSSH PRIVATE KEY-----",
    b"-----BEGIN " + b"PRIVATE KEY-----",
    b"-----BEGIN PGP " + b"PRIVATE KEY BLOCK-----",
    b"key=AKIA" + b"ABCDEFGHIJKLMNOP ",
    b"ghp_" + b"a" * 36,
    b"xoxb-" + b"1234567890-abcdef",
    b"123456789:AA" + b"x" * 33,
    b'{"refresh_token": "1//' + b'abcdefghijkl"}',
    b"pr_butler_" + b"a" * 43,
    b"sk-ant-" + b"api03-aaaaaaaaaaaaaaaaaaaaaaa",
]


@pytest.mark.requirement("content:files-secrets-stay")
@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_seen_wherever_it_lies(secret: bytes) -> None:
    content = b"x" * 997 + b"\n" + secret + b"\n" + b"y" * 500
    for size in (1, 13, 4096):
        scan = SecretScan()
        assert any(scan.feed(content[start : start + size]) for start in range(0, len(content), size)), size


@pytest.mark.parametrize(
    "harmless",
    [
        b"-----BEGIN PUBLIC KEY-----",
        b"-----BEGIN CERTIFICATE-----",
        b"task-123: AKIA",
        b"12:30:45",
        bytes(range(256)) * 20,
    ],
)
def test_what_only_resembles_one_is_none(harmless: bytes) -> None:
    assert SecretScan().feed(harmless) is None
