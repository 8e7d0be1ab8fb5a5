from __future__ import annotations

import aiohttp
import pytest
from tests.contract.pieces import Piecemeal

from postroom.world.http.whole_answer import MOST_BYTES, whole_answer


async def ask(server: Piecemeal) -> bytes:
    async with aiohttp.ClientSession() as session, session.get(server.url) as response:
        return await whole_answer(response.content)


@pytest.mark.parametrize("chunked", [False, True], ids=["with a length", "chunked"])
@pytest.mark.parametrize("piece_bytes", [1, 3, 1000])
async def test_the_pieces_are_put_together(piece_bytes: int, chunked: bool) -> None:
    async with Piecemeal("word " * 100, piece_bytes=piece_bytes, chunked=chunked) as server:
        assert await ask(server) == b'"%b"' % (b"word " * 100)


async def test_an_answer_past_the_limit_is_cut() -> None:
    async with Piecemeal("x" * (2 * MOST_BYTES), piece_bytes=2**20) as server:
        assert MOST_BYTES <= len(await ask(server)) < 2 * MOST_BYTES
