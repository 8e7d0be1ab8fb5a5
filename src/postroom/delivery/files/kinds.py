"""What a file is, by its bytes; what somebody says it is counts only as far as the bytes agree."""

from __future__ import annotations

import codecs
import re
import unicodedata
from dataclasses import dataclass, field
from typing import Final

BINARY: Final = "application/octet-stream"
_PLAIN: Final = "text/plain"
PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What every browser shows without running anything in it."""
_HEAD_BYTES: Final = 1024
# Where which bytes stand, what that is, and the endings that promise it.
_MAGIC: Final = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png", "png"),
    (0, b"\xff\xd8\xff", "image/jpeg", "jpg jpeg"),
    (0, b"GIF87a", "image/gif", "gif"),
    (0, b"GIF89a", "image/gif", ""),
    (8, b"WEBP", "image/webp", "webp"),
    (0, b"BM", "image/bmp", "bmp"),
    (0, b"II*\x00", "image/tiff", "tif tiff"),
    (0, b"MM\x00*", "image/tiff", ""),
    (0, b"\x00\x00\x01\x00", "image/x-icon", "ico"),
    (4, b"ftypavif", "image/avif", "avif"),
    (4, b"ftypheic", "image/heic", "heic"),
    (0, b"%PDF-", "application/pdf", "pdf"),
    (0, b"PK\x03\x04", "application/zip", "zip"),
    (0, b"PK\x05\x06", "application/zip", ""),
    (0, b"\x1f\x8b", "application/gzip", "gz"),
    (0, b"BZh", "application/x-bzip2", ""),
    (0, b"\xfd7zXZ\x00", "application/x-xz", ""),
    (0, b"(\xb5/\xfd", "application/zstd", ""),
    (0, b"7z\xbc\xaf'\x1c", "application/x-7z-compressed", ""),
    (0, b"Rar!\x1a\x07", "application/vnd.rar", ""),
    (0, b"MSCF", "application/vnd.ms-cab-compressed", ""),
    (257, b"ustar", "application/x-tar", ""),
    (0, b"\x7fELF", "application/x-executable", ""),
    (0, b"MZ", "application/x-msdownload", ""),
    (0, b"\xca\xfe\xba\xbe", "application/x-mach-binary", ""),
    (0, b"\xcf\xfa\xed\xfe", "application/x-mach-binary", ""),
    (0, b"\xce\xfa\xed\xfe", "application/x-mach-binary", ""),
    (0, b"\x00asm", "application/wasm", ""),
    (0, b"L\x00\x00\x00\x01\x14\x02\x00", "application/x-ms-shortcut", ""),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage", ""),
    (0, b"SQLite format 3\x00", "application/vnd.sqlite3", ""),
    (0, b"ID3", "audio/mpeg", "mp3"),
    (0, b"fLaC", "audio/flac", "flac"),
    (0, b"OggS", "audio/ogg", "ogg"),
    (8, b"WAVE", "audio/wav", "wav"),
    (8, b"AVI ", "video/x-msvideo", "avi"),
    (4, b"ftypM4A", "audio/mp4", "m4a"),
    (4, b"ftypqt", "video/quicktime", "mov"),
    (4, b"ftyp", "video/mp4", "mp4"),
    (0, b"\x1aE\xdf\xa3", "video/webm", "webm"),
)
_NEEDS_RIFF: Final = frozenset({"image/webp", "audio/wav", "video/x-msvideo"})
_MAY_BE_TEXT: Final = frozenset({"image/bmp", "application/x-msdownload", "audio/mpeg", "application/x-bzip2"})
"""A text may well begin with these few letters."""
_OFFICE: Final = "application/vnd.openxmlformats-officedocument."
_IN_ZIP: Final = {
    "docx": f"{_OFFICE}wordprocessingml.document",
    "xlsx": f"{_OFFICE}spreadsheetml.sheet",
    "pptx": f"{_OFFICE}presentationml.presentation",
    "odt": "application/vnd.oasis.opendocument.text",
    "ods": "application/vnd.oasis.opendocument.spreadsheet",
    "odp": "application/vnd.oasis.opendocument.presentation",
    "epub": "application/epub+zip",
}
_DOCUMENT_IN_ZIP: Final = re.compile(rb"^PK\x03\x04.{26}(\[Content_Types\]\.xml|mimetype|_rels/)", re.DOTALL)
_TEXTS: Final = {
    "txt": _PLAIN,
    "log": _PLAIN,
    "md": "text/markdown",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "json": "application/json",
    "xml": "application/xml",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "html": "text/html",
    "htm": "text/html",
    "svg": "image/svg+xml",
    "ics": "text/calendar",
    "vcf": "text/vcard",
    "css": "text/css",
    "py": "text/x-python",
    "diff": "text/x-diff",
    "patch": "text/x-diff",
    "tex": "text/x-tex",
}
_TEXT_TYPES: Final = frozenset({*_TEXTS.values(), "application/x-ndjson", "application/toml", "application/sql"})
_BY_EXTENSION: Final = {**_TEXTS, **_IN_ZIP, **{one: known for _, _, known, named in _MAGIC for one in named.split()}}
_ARCHIVES: Final = frozenset(
    {
        *("application/zip", "application/gzip", "application/x-bzip2", "application/x-xz", "application/zstd"),
        *("application/x-7z-compressed", "application/vnd.rar", "application/vnd.ms-cab-compressed"),
        "application/x-tar",
    }
)
_EXECUTABLES: Final = frozenset(
    {
        *("application/x-executable", "application/x-msdownload", "application/x-mach-binary", "application/wasm"),
        *("application/x-ms-shortcut", "application/x-ole-storage", "text/x-shellscript"),
    }
)
_RUN_BY_NAME: Final = frozenset(
    {
        *("apk", "app", "bat", "chm", "cmd", "com", "command", "cpl", "deb", "desktop", "dll", "dmg", "docm", "exe"),
        *("gadget", "hta", "htm", "html", "inf", "ins", "iso", "jar", "js", "jse", "lnk", "mjs", "msc", "msi", "msix"),
        *("pif", "pkg", "ps1", "pptm", "py", "pyw", "rb", "reg", "rpm", "run", "scf", "scr", "sh", "shtml", "svg"),
        *("swf", "url", "vb", "vbe", "vbs", "wsf", "xhtml", "xll", "xlsm"),
    }
)
_PACKED_BY_NAME: Final = frozenset(
    {"7z", "bz2", "cab", "gz", "lz4", "rar", "tar", "tbz", "tgz", "txz", "xz", "zip", "zst"}
)
_HTML: Final = re.compile(rb"<(?:!doctype\s+html|html|head|body|script|iframe|object|embed)[\s>/]", re.IGNORECASE)
_SVG: Final = re.compile(rb"<svg[\s>]", re.IGNORECASE)
_FORM: Final = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,60}/[a-z0-9][a-z0-9!#$&^_.+-]{0,80}")
_NO_TEXT: Final = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


@dataclass(slots=True)
class Sniffer:
    """Sees every byte once, in order, and keeps only the beginning."""

    head: bytes = b""
    _is_text: bool = True
    _decoder: codecs.IncrementalDecoder = field(default_factory=lambda: codecs.getincrementaldecoder("utf-8")())

    def feed(self, chunk: bytes) -> None:
        if len(self.head) < _HEAD_BYTES:
            self.head += chunk[: _HEAD_BYTES - len(self.head)]
        if self._is_text:
            self._is_text = _NO_TEXT.search(chunk) is None and self._decodes(chunk, final=False)

    def found(self, name: str) -> str:
        """The name only chooses among what the bytes can be."""
        if (magic := _by_magic(self.head)) is not None:
            document = _IN_ZIP.get(extension(name))
            return document if document and _DOCUMENT_IN_ZIP.match(self.head) else magic
        if not (self._is_text and self._decodes(b"", final=True)):
            return BINARY
        if self.head.startswith(b"#!"):
            return "text/x-shellscript"
        if _HTML.search(self.head):
            return "text/html"
        if _SVG.search(self.head):
            return "image/svg+xml"
        named = _TEXTS.get(extension(name), _PLAIN)
        return _PLAIN if named in ("text/html", "image/svg+xml") else named

    def _decodes(self, chunk: bytes, *, final: bool) -> bool:
        try:
            self._decoder.decode(chunk, final)
        except UnicodeDecodeError:
            return False
        return True


def _by_magic(head: bytes) -> str | None:
    for offset, magic, media_type, _ in _MAGIC:
        if head[offset : offset + len(magic)] == magic:
            if media_type in _NEEDS_RIFF and not head.startswith(b"RIFF"):
                continue
            if media_type in _MAY_BE_TEXT and _NO_TEXT.search(head) is None:
                continue
            return media_type
    return None


def is_media_type(text: str) -> bool:
    return _FORM.fullmatch(text) is not None


def agreed_type(found: str, declared: str | None) -> str | None:
    """
    What a file is sent as; None when the bytes contradict what was declared.

    A text may be called any kind of text, bytes that nobody recognises may be called anything that has no signature
    of its own, and "bytes" may be said of everything. Nothing is ever called a picture, an archive or a program
    that is none.
    """
    if declared is None or declared in (found, BINARY):
        return found
    if _is_text(found):
        return declared if declared in _TEXT_TYPES or declared.startswith("text/") else None
    if found == BINARY and not _has_signature(declared) and not _is_text(declared):
        return declared
    return None


def _has_signature(media_type: str) -> bool:
    """Of these we know the first bytes, so a file without them is none."""
    return any(media_type == known for _, _, known, _ in _MAGIC) or media_type in _IN_ZIP.values()


def name_contradicts(name: str, found: str) -> bool:
    """A picture by name that is none by its bytes, and the like; one picture called another is only corrected."""
    promised = _BY_EXTENSION.get(extension(name))
    if promised is None or promised == found:
        return False
    if _is_text(promised) or _is_text(found):
        return not (_is_text(promised) and _is_text(found))
    return promised.partition("/")[0] != found.partition("/")[0] or promised.startswith("application/")


def _is_text(media_type: str) -> bool:
    return media_type.startswith("text/") or media_type in _TEXT_TYPES


def is_dangerous(media_type: str, name: str) -> bool:
    """Archives, whose insides nobody sees, and whatever a machine may run."""
    last = extension(name)
    named = last in _RUN_BY_NAME or last in _PACKED_BY_NAME
    active = media_type in ("text/html", "image/svg+xml")
    return media_type in _ARCHIVES or media_type in _EXECUTABLES or named or active


def shown_as_picture(content: bytes) -> str | None:
    """The type of a picture that a browser may show, by its bytes and nothing else."""
    sniffer = Sniffer()
    sniffer.feed(content)
    found = sniffer.found("")
    return found if found in PICTURES else None


# -- A name as it may be shown and sent: one line, no path, nothing that turns it around ---

MAX_NAME_BYTES: Final = 150
NAMELESS: Final = "file"
_SEPARATORS: Final = ("/", "\\")
_REFUSED: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_NOT_IN_NAMES: Final = frozenset('<>:"|?*')  # some systems cannot store them, and headers need no quotes


def clean_name(given: str) -> str:
    """
    The last part of a path, without control, format or direction characters.

    What comes after the last dot stays the last thing that is shown, so `report.pdf.exe` is seen to be one.
    """
    for separator in _SEPARATORS:
        given = given.rpartition(separator)[2]
    kept = "".join(_kept(character) for character in unicodedata.normalize("NFC", given))
    return _short(" ".join(kept.split()).strip(". ")) or NAMELESS


def extension(name: str) -> str:
    """In small letters, without its dot; empty when there is none."""
    stem, dot, last = name.rpartition(".")
    return last.lower() if stem and dot else ""


def _kept(character: str) -> str:
    if character.isspace():
        return " "
    if unicodedata.category(character) in _REFUSED:
        return ""
    return "_" if character in _NOT_IN_NAMES else character


def _short(name: str) -> str:
    """From the end of its stem, so that the extension stays."""
    if len(name.encode()) <= MAX_NAME_BYTES:
        return name
    last = extension(name)
    ending = f".{last}" if last and len(last.encode()) <= 20 else ""
    stem = name[: len(name) - len(ending)] if ending else name
    return stem.encode()[: MAX_NAME_BYTES - len(ending.encode())].decode(errors="ignore").rstrip(". ") + ending


# -- Enough of a file for a person to decide on it, as text that can do nothing ---

MOST_PREVIEW_CHARACTERS: Final = 2_000
_DUMP_BYTES: Final = 256
_A_LINE: Final = 16


def preview(content: bytes, media_type: str) -> str:
    """The beginning of a text; of anything else a dump of its first bytes. A picture is shown, not described."""
    if media_type in PICTURES:
        return ""
    if _is_text(media_type):
        text = content[: 4 * MOST_PREVIEW_CHARACTERS + 4].decode(errors="replace")
        cut = len(text) > MOST_PREVIEW_CHARACTERS or len(content) > 4 * MOST_PREVIEW_CHARACTERS + 4
        return text[:MOST_PREVIEW_CHARACTERS] + ("…" if cut else "")
    return _dump(content[:_DUMP_BYTES]) + ("\n…" if len(content) > _DUMP_BYTES else "")


def _dump(content: bytes) -> str:
    lines = (content[start : start + _A_LINE] for start in range(0, len(content), _A_LINE))
    return "\n".join(f"{one.hex(' '):<47}  {_printable(one)}" for one in lines)


def _printable(line: bytes) -> str:
    return "".join(chr(byte) if 32 <= byte < 127 else "." for byte in line)


# -- Files that look like a key to something never leave, whoever asks: a private key, or a token of a known form ---

_OVERLAP_BYTES: Final = 256
_FORMS: Final = {
    "a private key": rb"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d",
    "an AWS key": rb"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "a GitHub token": rb"\bgh[pousr]_[A-Za-z0-9]{36}|\bgithub_pat_[A-Za-z0-9_]{60}",
    "a GitLab token": rb"\bglpat-[A-Za-z0-9_-]{20}",
    "a Slack token": rb"\bxox[abeoprs]-[0-9A-Za-z-]{10,}|\bxapp-\d-[A-Z0-9]+-\d+-[0-9a-f]{20,}",
    "a Telegram bot token": rb"\b\d{8,10}:AA[A-Za-z0-9_-]{33}\b",
    "a Discord bot token": rb"\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}\b",
    "an API key": rb"\bsk-ant-[A-Za-z0-9_-]{20,}|\bsk-(?:proj-)?[A-Za-z0-9_]{40,}|\b[sr]k_live_[0-9A-Za-z]{16,}",
    "a Google key": rb"\bAIza[0-9A-Za-z_-]{35}|\bya29\.[0-9A-Za-z_-]{20,}|\bGOCSPX-[A-Za-z0-9_-]{20,}",
    "stored OAuth credentials": rb'"refresh_token"\s*:\s*"[^"\s]{10,}"',
    "a package registry token": rb"\bnpm_[A-Za-z0-9]{36}|\bpypi-AgEI[A-Za-z0-9_-]{20,}",
    "a Postroom token": rb"\bpr_(?:operator|butler|program|person|user|connector|session)_[A-Za-z0-9_-]{40,}",
}
_ANY: Final = re.compile(b"|".join(b"(?P<f%d>%b)" % (number, form) for number, form in enumerate(_FORMS.values())))
_KINDS: Final = tuple(_FORMS)


@dataclass(slots=True)
class SecretScan:
    """Fed with a file chunk by chunk; remembers enough to see what lies across two of them."""

    _before: bytes = b""

    def feed(self, chunk: bytes) -> str | None:
        """What it looks like, as soon as it does."""
        seen = self._before + chunk
        found = _ANY.search(seen)
        self._before = seen[-_OVERLAP_BYTES:]
        return _KINDS[int((found.lastgroup or "f0")[1:])] if found else None
