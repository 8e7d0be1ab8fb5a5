"""A few characters of an address: enough to tell two people of one name apart."""

from __future__ import annotations

from postroom.domain.contact import Contact


def hint_of(contact: Contact) -> str:
    parts = []
    if contact.telegram_chat_id:
        parts.append(f"Telegram …{contact.telegram_chat_id[-2:]}")
    if contact.email:
        name, _, domain = contact.email.partition("@")
        parts.append(f"{name[:1]}…@{domain}")
    return ", ".join(parts) or contact.agent_address
