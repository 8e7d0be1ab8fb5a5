"""A file on its way into Slack: an address to bring it to, the bytes, and the one call that shows it to people."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from postroom.domain.attachment import Attachment
from postroom.domain.delivery import Receipt
from postroom.domain.errors import OutcomeUncertain, TargetUnavailable
from postroom.world.channels.carried_files import plain_name
from postroom.world.channels.slack.address import is_message_id
from postroom.world.channels.slack.call import FILE_ID, SlackCall
from postroom.world.channels.slack.web_api import SlackWebApi, Told

_ASK: Final = "files.getUploadURLExternal"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackUploads:
    """Nobody sees a file before it is published, so everything until then can be done again."""

    api: SlackWebApi

    async def publish(self, call: SlackCall, file: Attachment, content: bytes, timeout_seconds: float) -> Receipt:
        """`call` names the conversation, and the thread, by the ids that Slack wants."""
        ends_at = time.monotonic() + timeout_seconds
        file_id = await self._uploaded(file, content, ends_at)
        named = {name: call.body[name] for name in ("thread_ts", "initial_comment") if name in call.body}
        body = {"files": [{"id": file_id, "title": plain_name(file)}], "channel_id": call.channel, **named}
        return receipt(file_id, call.channel, await self.api.call(call.method, body, ends_at - time.monotonic()))

    async def _uploaded(self, file: Attachment, content: bytes, ends_at: float) -> str:
        asked = {"filename": plain_name(file), "length": str(len(content))}
        told = await self.api.fill_in(_ASK, asked, ends_at - time.monotonic())
        url, file_id = told.get("upload_url"), told.get("file_id")
        if not isinstance(url, str) or not isinstance(file_id, str) or not self._is_trusted(url):
            raise TargetUnavailable("Slack named no place for the file that can be trusted")
        await self.api.bring(url, content, ends_at - time.monotonic())
        return file_id

    def _is_trusted(self, url: str) -> bool:
        try:
            address = urlsplit(url)
        except ValueError:
            return False
        wanted = ("https",) if self.api.is_encrypted else ("http", "https")
        return address.scheme in wanted and bool(address.hostname)


def receipt(file_id: str, channel: str, told: Told) -> Receipt:
    """The message that shows the file, where Slack names it already; else the file, by which Slack knows it."""
    files = told.get("files")
    listed = [one for one in files if isinstance(one, Mapping)] if isinstance(files, list) else []
    if not any(one.get("id") == file_id for one in listed):
        raise OutcomeUncertain("Slack accepted the file and did not say that it shows it")
    stamps = [stamp for one in listed for stamp in _stamps(one.get("shares"), channel)]
    return Receipt(stamps[0] if stamps else f"{FILE_ID}{file_id}", conversation=channel)


def _stamps(shares: Any, channel: str) -> list[str]:
    """Under `public` or `private`, by channel; Slack fills it in a moment later, so it is often empty."""
    found = [kind.get(channel) for kind in shares.values()] if _holds(shares) else []
    posts = [one for places in found if isinstance(places, list) for one in places if isinstance(one, Mapping)]
    return [str(one["ts"]) for one in posts if is_message_id(one.get("ts"))]


def _holds(shares: Any) -> bool:
    return isinstance(shares, Mapping) and all(isinstance(kind, Mapping) for kind in shares.values())
