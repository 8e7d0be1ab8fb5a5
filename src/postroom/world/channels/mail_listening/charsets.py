"""Bytes in whatever charset they claim to be; what cannot be read becomes replacement characters."""

from __future__ import annotations

import codecs
from typing import Final

_NEVER: Final = frozenset({"punycode", "idna", "unicode_escape", "raw_unicode_escape", "undefined"})
"""Codecs that are none of mail's and cost more the longer the text is, or raise."""


def decoded_bytes(raw: bytes, charset: str | None) -> str:
    try:
        name = codecs.lookup(charset or "utf-8").name
        return raw.decode("utf-8" if name.replace("-", "_") in _NEVER else name, "replace")
    except (LookupError, ValueError, UnicodeError):
        return raw.decode("utf-8", "replace")
