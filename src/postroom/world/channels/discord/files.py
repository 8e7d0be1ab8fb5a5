"""Files under a Discord message: one form with the message and all of them, so one request and one outcome."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from postroom.domain.attachment import Attachment
from postroom.world.channels.carried_files import plain_name, plain_type
from postroom.world.channels.discord.request import DiscordRequest
from postroom.world.http.form_data import FormFile, MultipartForm, form_of


def with_files(request: DiscordRequest, files: Sequence[Attachment]) -> DiscordRequest:
    if not files:
        return request
    listed = [{"id": place, "filename": plain_name(one)} for place, one in enumerate(files)]
    return replace(request, body={**(request.body or {}), "attachments": listed}, files=tuple(files))


def form(request: DiscordRequest, contents: Sequence[bytes]) -> MultipartForm:
    files = [
        FormFile(
            form_field=f"files[{place}]",
            name=plain_name(one),
            media_type=plain_type(one),
            sha256=one.sha256,
            content=content,
        )
        for place, (one, content) in enumerate(zip(request.files, contents, strict=True))
    ]
    return form_of({"payload_json": json.dumps(request.body)}, files)
