"""Files in a store that speaks Amazon's S3; copies are first made on this machine's disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from postroom.domain.attachment import Attachment
from postroom.domain.errors import InternalError, StoreUnavailable
from postroom.domain.file_ports import Draft
from postroom.domain.time import to_us
from postroom.world.files.drafts import Drafts
from postroom.world.files.kept import KeptFile

_GONE: Final = frozenset({"404", "NoSuchKey", "NotFound"})
_HASH_LENGTH: Final = 64
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Account:
    bucket: str
    prefix: str
    endpoint_url: str | None = None
    region: str | None = None
    access_key: str | None = field(default=None, repr=False)
    secret_key: str | None = field(default=None, repr=False)


class S3Files:
    def __init__(self, account: S3Account, home: Path) -> None:
        self._account = account
        self._drafts = Drafts(home / "drafts")
        self._made: Any = None

    async def draft(self, source: BinaryIO, look: Callable[[bytes], None]) -> Draft:
        return await self._drafts.make(source, look)

    async def discard(self, draft: Draft) -> None:
        await self._drafts.discard(draft)

    async def keep(self, draft: Draft) -> None:
        bucket, key = self._account.bucket, self._key(draft.sha256)
        await self._call(lambda s3: s3.upload_file(str(draft.path), bucket, key))

    async def read(self, attachment: Attachment) -> bytes:
        wanted = {"Bucket": self._account.bucket, "Key": self._key(attachment.sha256)}
        content = await self._call(lambda s3: _if_there(lambda: bytes(s3.get_object(**wanted)["Body"].read())))
        if content is None:
            raise InternalError(f"the bytes of {attachment.sha256[:12]} are gone")
        if sha256(content).hexdigest() != attachment.sha256:
            raise InternalError(f"the bytes of {attachment.sha256[:12]} have changed in the store")
        return content

    async def holds(self, attachment: Attachment) -> bool:
        wanted = {"Bucket": self._account.bucket, "Key": self._key(attachment.sha256)}
        size = await self._call(lambda s3: _if_there(lambda: s3.head_object(**wanted)["ContentLength"]))
        return bool(size == attachment.size)

    async def kept_before(self, before_us: int) -> list[KeptFile]:
        return await self._call(lambda s3: [one for one in self._listed(s3) if one.at_us < before_us])

    async def remove(self, sha: str, before_us: int) -> bool:
        """
        Looked at once more before; a store of this kind cannot do both in one step.

        Whoever stores the same bytes in that moment is protected by the age that a file must have: `keep` writes
        anew, and the row follows at once.
        """
        wanted = {"Bucket": self._account.bucket, "Key": self._key(sha)}

        def work(s3: Any) -> bool:
            found = _if_there(lambda: s3.head_object(**wanted)["LastModified"])
            if found is None or to_us(found) >= before_us:
                return False
            s3.delete_object(**wanted)
            return True

        return await self._call(work)

    async def remove_drafts(self, before_us: int) -> int:
        return await asyncio.to_thread(self._drafts.remove_before, before_us)

    async def _call(self, work: Callable[[Any], _Result]) -> _Result:
        try:
            return await asyncio.to_thread(lambda: work(self._client()))
        except (BotoCoreError, ClientError, boto3.exceptions.Boto3Error, OSError) as error:
            raise StoreUnavailable(f"files: {type(error).__name__}") from None

    def _client(self) -> Any:
        """Made once; it may be used by many threads."""
        if self._made is None:
            account = self._account
            self._made = boto3.session.Session().client(
                "s3",
                endpoint_url=account.endpoint_url,
                region_name=account.region,
                aws_access_key_id=account.access_key,
                aws_secret_access_key=account.secret_key,
                config=Config(connect_timeout=5, read_timeout=30, retries={"max_attempts": 3, "mode": "standard"}),
            )
        return self._made

    def _key(self, sha: str) -> str:
        return "/".join(part for part in (self._account.prefix, sha[:2], sha[2:]) if part)

    def _listed(self, s3: Any) -> Iterator[KeptFile]:
        start = f"{self._account.prefix}/" if self._account.prefix else ""
        for page in s3.get_paginator("list_objects_v2").paginate(Bucket=self._account.bucket, Prefix=start):
            for one in page.get("Contents", []):
                sha = one["Key"].removeprefix(start).replace("/", "")
                if len(sha) == _HASH_LENGTH:
                    yield KeptFile(sha256=sha, size=one["Size"], at_us=to_us(one["LastModified"]))


def _if_there(look: Callable[[], _Result]) -> _Result | None:
    try:
        return look()
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") in _GONE:
            return None
        raise
