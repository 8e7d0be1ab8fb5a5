"""What a person wrote in answer to a message of ours."""

from __future__ import annotations

from dataclasses import dataclass

from postroom.domain.assurance import Assurance


@dataclass(frozen=True, slots=True, kw_only=True)
class InboundReply:
    """What somebody wrote in answer to one of our messages: `address` is where, `sender` is who."""

    channel: str
    address: str
    sender: str
    provider_id: str
    text: str
    thread: str = ""
    """Of what they wrote, for an answer to it."""
    assurance: Assurance = Assurance.CHANNEL
