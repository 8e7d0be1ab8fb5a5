"""Mails as people's programs write them."""

from __future__ import annotations

from email.message import EmailMessage
from typing import Any

from postroom.channels.email.incoming.reading import OwnMessages

OURS = "0191a3c4-7d2e-7abc-8def-0123456789ab"
OUR_ID = f"<{OURS}@post.example>"
KEY = b"household"
MARKED = OwnMessages("bot@post.example", KEY).marked_id(OURS)
PROVED = "mx.post.example; dmarc=pass (p=REJECT) header.from=example.org"


def mail(text: str = "yes", *, proved: str | None = PROVED, **headers: Any) -> bytes:
    """`In_Reply_To="…"` becomes the header of that name; None leaves one out."""
    message = EmailMessage()
    if proved is not None:
        message["Authentication-Results"] = proved
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    usual = {"From": "Ada Lovelace <ada@example.org>", "To": "bot@post.example", "Subject": "Re: Question: Ship it?"}
    usual |= {"Message-ID": "<reply-1@example.org>", "In-Reply-To": OUR_ID}
    for name, value in (usual | named).items():
        if value is not None:
            message[name] = value
    message.set_content(text)
    return message.as_bytes()


BOUNCE = f"""From: MAILER-DAEMON@mx.example.org
To: bot@post.example
Subject: Undelivered Mail Returned to Sender
Message-ID: <bounce-1@mx.example.org>
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="b"

--b
Content-Type: text/plain

I'm sorry to have to inform you.

--b
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.example.org

Final-Recipient: rfc822; ada@example.org
Action: failed
Status: 5.1.1
Diagnostic-Code: smtp; 550 5.1.1 <ada@example.org>: Recipient address rejected: User unknown

--b
Content-Type: text/rfc822-headers

From: bot@post.example
To: ada@example.org
Message-ID: {MARKED}
Subject: Hello

--b--
""".encode()
