"""What people send with their words is fetched and kept before anybody hears them; what cannot be is said to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import structlog

from postroom.domain.attachment import Attachment
from postroom.domain.errors import OverloadRejected, PostroomError, StoreUnavailable, ValidationError
from postroom.domain.inbound_message import InboundFile, InboundMessage
from postroom.domain.person import Person
from postroom.domain.ports import BringsFiles, Outbound
from postroom.domain.said_back import said_back
from postroom.work.conversations.notice_ear import ProvedPeople, SaidHere
from postroom.work.conversations.texts import texts_for
from postroom.work.files.fit import MOST_FILES
from postroom.work.files.taking import FileTaking

_BRING_SECONDS: Final = 30.0
_NOT_NOW: Final = "it could not be fetched; please send it again later"
_log = structlog.get_logger("postroom.inbound")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivingFiles:
    """Within the limits of files that are sent. Of strangers, and of what was not said to us, nothing is fetched."""

    taking: FileTaking
    people: ProvedPeople
    threads: SaidHere
    outbound: Outbound

    async def taken(self, message: InboundMessage, channel: object) -> InboundMessage:
        """A second time it is the same files, by their keys."""
        if not message.offers:
            return message
        person = await self._who(message)
        if person is None:
            return replace(message, offers=())
        kept, problems = await self._take(await self._brought(message, channel), message, person)
        if problems:
            words = texts_for(person.language).files_not_taken.format(files="\n".join(problems))
            key = f"files:{message.channel}:{message.event_id}"
            await self.outbound.submit(
                said_back(message, words, key=key, request_id=key), request_id=key, wait_seconds=0
            )
        return replace(message, offers=(), files=tuple(kept))

    async def _who(self, message: InboundMessage) -> Person | None:
        if message.author is None:
            return None
        is_ours = message.alone or message.addressed
        if not is_ours and (not message.replies_to or await self.threads.replied_to(message) is None):
            return None
        return await self.people.at(message.channel, message.author)

    async def _brought(self, message: InboundMessage, channel: object) -> Sequence[InboundFile]:
        """A provider that is away for a moment must not hold up everybody else's words."""
        if not isinstance(channel, BringsFiles):
            return [replace(one, problem="files cannot be fetched here") for one in message.offers]
        try:
            return await channel.bring_files(message, _BRING_SECONDS)
        except PostroomError as error:
            _log.warning("inbound.files_not_fetched", source=message.channel, error_class=str(error.error_class))
        except Exception as error:  # the message would come again for ever, and all others wait behind it
            _log.error("inbound.bug", source=message.channel, error=type(error).__name__)
        return [replace(one, problem=_NOT_NOW) for one in message.offers]

    async def _take(
        self, brought: Sequence[InboundFile], message: InboundMessage, person: Person
    ) -> tuple[list[Attachment], list[str]]:
        kept: list[Attachment] = []
        problems: list[str] = []
        for number, one in enumerate(brought):
            try:
                if one.content is None:
                    raise ValidationError(one.problem or _NOT_NOW)
                if len(kept) == MOST_FILES:
                    raise ValidationError(f"at most {MOST_FILES} files are taken at once")
                key = f"{message.channel}:{message.event_id}:{number}"
                owner = f"person:{person.id}"
                upload = await self.taking.take_arrived(one.content, name=one.name, owner=owner, key=key)
                kept.append(upload.attached())
            except StoreUnavailable:
                raise
            except ValidationError as error:
                problems.append(f"• {one.name or 'a file'}: {error.fields[0].error if error.fields else error.message}")
            except OverloadRejected:
                problems.append(f"• {one.name or 'a file'}: you have sent as much as is taken within a day")
        return kept, problems
