"""Files in a store that speaks S3, against a server that others wrote."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import pytest

from postroom.domain.attachment import Attachment
from postroom.domain.errors import InternalError, StoreUnavailable

boto3 = pytest.importorskip("boto3", reason="the extra s3 is not installed")
server = pytest.importorskip("moto.server", reason="moto is not installed")

from postroom.world.files.s3 import S3Account, S3Files  # noqa: E402

LATER_US = 4_000_000_000_000_000


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    yield f"http://{host}:{port}"
    running.stop()


@pytest.fixture
def account(endpoint: str, request: pytest.FixtureRequest) -> S3Account:
    bucket = f"b-{abs(hash(request.node.name))}"
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "s", "region_name": "us-east-1"}
    boto3.client("s3", endpoint_url=endpoint, **keys).create_bucket(Bucket=bucket)
    return S3Account(
        bucket=bucket, prefix="house/files", endpoint_url=endpoint, region="us-east-1", access_key="a", secret_key="s"
    )


def attachment(content: bytes) -> Attachment:
    sha = sha256(content).hexdigest()
    return Attachment(upload_id="", sha256=sha, name="a", media_type="text/plain", size=len(content))


@pytest.mark.requirement("content:files-elsewhere")
@pytest.mark.parametrize("content", [b"hello", b"x" * 9_000_000], ids=["small", "in several parts"])
async def test_bytes_come_back_as_they_were(account: S3Account, tmp_path: Path, content: bytes) -> None:
    files = S3Files(account, tmp_path)
    draft = await files.draft(BytesIO(content), lambda _: None)
    await files.keep(draft)
    await files.discard(draft)

    assert await files.read(attachment(content)) == content
    assert await files.holds(attachment(content))
    assert not await files.holds(attachment(b"never"))
    with pytest.raises(InternalError, match="gone"):
        await files.read(attachment(b"never"))
    assert not list(tmp_path.rglob("*.*")) and not list((tmp_path / "drafts").iterdir())


async def test_what_is_not_old_enough_stays(account: S3Account, tmp_path: Path) -> None:
    files = S3Files(account, tmp_path)
    await files.keep(await files.draft(BytesIO(b"hello"), lambda _: None))
    sha = attachment(b"hello").sha256

    assert await files.kept_before(1) == [] and not await files.remove(sha, 1)
    assert [one.sha256 for one in await files.kept_before(LATER_US)] == [sha]
    assert await files.remove(sha, LATER_US) and not await files.remove(sha, LATER_US)
    assert not await files.holds(attachment(b"hello"))
    assert await files.remove_drafts(LATER_US) == 1


async def test_bytes_that_changed_are_never_given_out(account: S3Account, tmp_path: Path) -> None:
    files, sha = S3Files(account, tmp_path), attachment(b"hello").sha256
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "s", "region_name": "us-east-1"}
    s3 = boto3.client("s3", endpoint_url=account.endpoint_url, **keys)
    s3.put_object(Bucket=account.bucket, Key=f"house/files/{sha[:2]}/{sha[2:]}", Body=b"HELLO")

    with pytest.raises(InternalError, match="changed"):
        await files.read(attachment(b"hello"))


async def test_a_store_that_is_away_is_said_to_be(tmp_path: Path) -> None:
    nowhere = S3Account(
        bucket="b", prefix="", endpoint_url="http://127.0.0.1:1", region="us-east-1", access_key="a", secret_key="s"
    )
    with pytest.raises(StoreUnavailable):
        await S3Files(nowhere, tmp_path).holds(attachment(b"hello"))
    assert "secret" not in repr(nowhere)
