"""How what was kept is listed to programs."""

from __future__ import annotations

import json
from typing import Any

from postroom.domain.time import SECOND_US, to_text
from postroom.programs.sandbox.records import Callback, Edit, Reaction, StoredMail, TelegramMessage


def message_listing(message: TelegramMessage) -> dict[str, Any]:
    return {
        "message_id": message.message_id,
        "chat_id": message.chat_id,
        "text": message.text,
        "date": message.date_us // SECOND_US,
        "received_at": to_text(message.date_us),
        "reply_to_message_id": message.reply_to_message_id,
        "reactions": list(message.reactions),
        "earlier_texts": list(message.earlier_texts),
        "is_deleted": message.is_deleted,
        "parse_mode": message.parse_mode,
        "entities": None if message.entities is None else json.loads(message.entities),
        "reply_markup": None if message.reply_markup is None else json.loads(message.reply_markup),
        "from_name": message.from_name,
        "from_id": message.from_id,
        "edits": [edit_listing(edit) for edit in message.edits],
        "presses": [callback_listing(press) for press in message.presses],
        "attachments": [one.listing() for one in message.files],
    }


def edit_listing(edit: Edit) -> dict[str, Any]:
    """What stood there before."""
    return {
        "text": edit.text,
        "reply_markup": None if edit.reply_markup is None else json.loads(edit.reply_markup),
        "edited_at": None if edit.edited_us is None else to_text(edit.edited_us),
    }


def reaction_listing(reaction: Reaction) -> dict[str, Any]:
    return {
        "reaction_id": reaction.reaction_id,
        "chat_id": reaction.chat_id,
        "message_id": reaction.message_id,
        "emoji": reaction.emoji,
        "from": "person" if reaction.from_person else "bot",
        "date": reaction.date_us // SECOND_US,
    }


def callback_listing(callback: Callback) -> dict[str, Any]:
    return {
        "callback_query_id": str(callback.callback_id),
        "chat_id": callback.chat_id,
        "message_id": callback.message_id,
        "data": callback.data,
        "date": callback.date_us // SECOND_US,
        "answered": callback.answered_us is not None,
        "answer": callback.answer,
        "alert": callback.is_alert,
        "from_id": callback.from_id,
    }


def mail_listing(stored: StoredMail) -> dict[str, Any]:
    """`from` and `to` are the envelope's; what the headers claim is under `headers`."""
    mail = stored.mail
    return {
        "id": stored.email_id,
        "from": mail.sender,
        "to": ", ".join(mail.recipients),
        "recipients": list(mail.recipients),
        "subject": mail.subject,
        "body": mail.body,
        "message_id": mail.message_id,
        "in_reply_to": mail.in_reply_to,
        "references": mail.references,
        "headers": dict(mail.headers),
        "attachments": [one.listing() for one in mail.files],
        "received_at": to_text(stored.received_us),
    }
