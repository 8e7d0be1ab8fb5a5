"""One mail from the mailbox, as what it is to us: a person's words, news of a mail of ours, or nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from email.message import Message

from postroom.domain.address_folding import folded
from postroom.domain.assurance import Assurance, Flag
from postroom.domain.errors import ValidationError
from postroom.domain.ids import DeliveryId
from postroom.domain.inbound_message import InboundEvent, InboundFile, InboundMessage, LateNews
from postroom.world.channels.brought_files import with_ending
from postroom.world.channels.mail_header import message_id
from postroom.world.channels.mail_listening.answered_message import OwnMessages
from postroom.world.channels.mail_listening.authentication import is_proved
from postroom.world.channels.mail_listening.bounce import Bounce, bounce_in
from postroom.world.channels.mail_listening.headers import header, headers
from postroom.world.channels.mail_listening.html_words import html_words
from postroom.world.channels.mail_listening.imap_session import FETCHED_BYTES, FetchedMail
from postroom.world.channels.mail_listening.marks import marks
from postroom.world.channels.mail_listening.own_words import LONGEST, own_words, unflowed
from postroom.world.channels.mail_listening.parts import bytes_of, files_in, is_text, name_of, parsed, parts_of, text_of
from postroom.world.channels.mail_listening.sender import MailSender, sender_of
from postroom.world.channels.mail_listening.subject import subject_of
from postroom.world.channels.mailbox import domain_of


@dataclass(frozen=True, slots=True, kw_only=True)
class MailReading:
    """Pure: the same mail is the same event, however often and under whatever number it is fetched."""

    channel: str
    own: OwnMessages
    own_addresses: frozenset[str]
    authserv_id: str

    def event(self, mail: FetchedMail) -> InboundEvent | None:
        message = parsed(mail.content)
        if bounce := bounce_in(message):
            return self._news(mail, message, bounce)
        sender = sender_of(message)
        return self._words(mail, message, sender) if sender else None

    def _news(self, mail: FetchedMail, message: Message, bounce: Bounce) -> LateNews | None:
        """Anybody can write a report: it counts when it shows the mark of the mail, and names whom that went to."""
        about = self.own.proved_by(bounce.about)
        if about is None:
            return None
        return LateNews(
            channel=self.channel,
            event_id=f"mail:{_name(mail, message)}",
            kind=bounce.kind,
            at_us=mail.at_us or 0,
            words=bounce.words,
            delivery_id=about,
            recipients=bounce.recipients,
            for_good=bounce.is_final,
        )

    def _words(self, mail: FetchedMail, message: Message, sender: MailSender) -> InboundMessage:
        answered, flags = self.own.answered_by(message), marks(message, sender.address, self.own_addresses)
        proved = is_proved(headers(message, "Authentication-Results"), self.authserv_id, domain_of(sender.address))
        flags = flags if proved else flags | {Flag.UNVERIFIED}
        written = whole_text(message)
        text = own_words(written, sender.name, self.own_addresses)
        return InboundMessage(
            channel=self.channel,
            number=mail.uid,
            message_id=_name(mail, message),
            places=tuple(dict.fromkeys([sender.address, folded(sender.address)])),
            sender=sender.address if proved else None,
            text=text,
            original=written or None,
            subject=subject_of(message),
            replies_to=self._provider_id(answered),
            answers=answered,
            alone=answered is not None and not flags,
            addressed=not flags,
            said_at_us=mail.at_us,
            flags=flags,
            assurance=Assurance.CHANNEL if proved else Assurance.NONE,
            offers=_offers(mail, message),
        )

    def _provider_id(self, delivery_id: DeliveryId | None) -> str | None:
        return None if delivery_id is None else self.own.message_id(delivery_id)


def whole_text(message: Message) -> str:
    """Plain text is preferred: it is what was typed. What is attached is not read."""
    parts = list(parts_of(message))
    for part in (one for one in parts if is_text(one, "plain")):
        text = text_of(part)
        if text.strip():
            return (unflowed(text) if part.get_param("format") == "flowed" else text)[:LONGEST]
    html = next((one for one in parts if is_text(one, "html")), None)
    return html_words(text_of(html))[:LONGEST] if html is not None else ""


def brought(mail: FetchedMail, most_bytes: int) -> list[InboundFile]:
    """The files of a whole mail."""
    if len(mail.content) >= most_bytes:
        return [InboundFile(name="the files of this mail", problem=f"it is larger than {most_bytes:,} bytes")]
    found = [InboundFile(name=_file_name(one), content=bytes_of(one)) for one in files_in(parsed(mail.content))]
    return [one if one.content else replace(one, content=None, problem="it could not be read") for one in found]


def _offers(mail: FetchedMail, message: Message) -> tuple[InboundFile, ...]:
    """Of a long mail only the beginning is here, so that there may be files in it that are not seen yet."""
    names = [_file_name(one) for one in files_in(message)]
    if not names and len(mail.content) >= FETCHED_BYTES and message.is_multipart():
        names = ["the files of this mail"]
    return tuple(InboundFile(reference=f"{mail.validity}:{mail.uid}", name=name) for name in names)


def _file_name(part: Message) -> str:
    return name_of(part) or with_ending("file", part.get_content_type())


def _name(mail: FetchedMail, message: Message) -> str:
    """Stable over every numbering of the mailbox, where the mail has a name of its own."""
    try:
        named = message_id("Message-ID", header(message, "Message-ID"))
    except ValidationError:
        named = None
    return named or f"{mail.validity}:{mail.uid}"
