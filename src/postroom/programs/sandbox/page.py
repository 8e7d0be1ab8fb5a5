"""The page that shows a person what the sandbox caught: a phone and a mailbox."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape

from postroom.domain.time import to_text
from postroom.programs.sandbox.faults import Fault
from postroom.programs.sandbox.kept_files import SHOWN_TYPES, SandboxFile
from postroom.programs.sandbox.keyboards import keys
from postroom.programs.sandbox.records import StoredMail, TelegramMessage

NOTICE = "SANDBOX: nothing leaves this machine"

_STYLE = """
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 72rem; padding: 1rem; }
.notice { background: #7a4b00; border-radius: .5rem; color: #fff; font-weight: 700; margin: 0; padding: .75rem 1rem; }
.rooms { display: grid; gap: 2rem; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); }
ol { display: grid; gap: .75rem; list-style: none; padding: 0; }
li { border: 1px solid #8888; border-radius: .75rem; padding: .75rem 1rem; }
li.person { margin-left: 3rem; }
img { max-height: 16rem; max-width: 100%; }
.text { margin: .25rem 0; overflow-wrap: anywhere; white-space: pre-wrap; }
.keys { display: grid; gap: .25rem; margin: .5rem 0; }
.keys span { background: #8882; border-radius: .5rem; padding: .25rem; text-align: center; }
.about { font-size: .85rem; margin: 0; overflow-wrap: anywhere; }
"""

_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
PAGE_HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; img-src 'self'; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def render(
    chat: Sequence[TelegramMessage],
    mails: Sequence[StoredMail],
    faults: Sequence[Fault],
) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{NOTICE}</title><style>{_STYLE}</style></head><body>"
        f'<p class="notice" role="status">{NOTICE}</p><h1>Postroom sandbox</h1>'
        f"<p>{_fault_line(faults)} Reload the page to see what arrived since.</p>"
        '<main class="rooms">'
        f"{_room('Phone', 'No messages yet.', [_bubble(message) for message in reversed(chat)])}"
        f"{_room('Mailbox', 'No e-mail yet.', [_letter(stored) for stored in reversed(mails)])}"
        "</main></body></html>"
    )


def _fault_line(faults: Sequence[Fault]) -> str:
    if not faults:
        return "No faults are armed."
    return f"{len(faults)} fault{'s' if len(faults) > 1 else ''} armed: the sandbox misbehaves on purpose."


def _room(name: str, empty: str, entries: Sequence[str]) -> str:
    content = f"<ol>{''.join(entries)}</ol>" if entries else f"<p>{empty}</p>"
    return f'<section aria-label="{name}"><h2>{name}</h2>{content}</section>'


def _bubble(message: TelegramMessage) -> str:
    side, who = ("person", message.from_name or "Person") if message.from_person else ("bot", "Bot")
    notes = [f"{who}, chat {message.chat_id}, message {message.message_id}, {to_text(message.date_us)}"]
    if message.reply_to_message_id is not None:
        notes.append(f"in reply to {message.reply_to_message_id}")
    labels = [key["text"] for key in keys(json.loads(message.reply_markup or "null"))]
    if message.edits:
        notes.append("edited")
    if message.is_deleted:
        notes.append("deleted")
    notes += [f"answered {press.answer!r}" for press in message.presses if press.answer]
    if message.reactions:
        notes.append(f"reactions {' '.join(message.reactions)}")
    shown = f'<p class="text">{escape(message.text)}</p>{_keys(labels)}'
    return f'<li class="{side}">{_files(message.files)}{shown}{_about(notes)}</li>'


def _keys(labels: Sequence[str]) -> str:
    """To look at; a test or a command presses them."""
    if not labels:
        return ""
    named, shown = escape(f"buttons {', '.join(labels)}"), "".join(f"<span>{escape(one)}</span>" for one in labels)
    return f'<p class="keys" role="group" aria-label="{named}">{shown}</p>'


def _letter(stored: StoredMail) -> str:
    mail = stored.mail
    notes = [f"from {mail.sender}", f"to {', '.join(mail.recipients)}", to_text(stored.received_us)]
    return (
        f"<li><h3>{escape(mail.subject) or 'No subject'}</h3>{_about(notes)}"
        f'<p class="text">{escape(mail.body)}</p>{_files(mail.files)}</li>'
    )


def _files(files: Sequence[SandboxFile]) -> str:
    return "".join(_file(one) for one in files)


def _file(one: SandboxFile) -> str:
    where, name = f"/sandbox/files/{escape(one.sha256)}", escape(one.name)
    picture = f'<p><img src="{where}" alt="{name}"></p>' if one.media_type in SHOWN_TYPES else ""
    return f'{picture}<p class="about">File <a href="{where}" download="{name}">{name}</a>, {one.size:,} bytes</p>'


def _about(notes: Sequence[str]) -> str:
    return f'<p class="about">{escape(", ".join(notes))}</p>'
