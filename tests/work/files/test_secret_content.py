"""Keys and tokens that lie in files."""

from __future__ import annotations

import pytest

from postroom.work.files.secret_content import SecretScan

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
