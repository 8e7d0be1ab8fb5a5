"""Every product once in every round, on empty ground; then the kills."""

from __future__ import annotations

import asyncio
import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.services.postgres import PostgresServer

from benchmarks.peers.asking.house import House, Refused
from benchmarks.peers.asking.house_awaithumans import AwaithumansHouse
from benchmarks.peers.asking.house_postroom import PostroomHouse
from benchmarks.peers.asking.kills import Kills, Moment
from benchmarks.peers.asking.pace import one_round
from benchmarks.peers.asking.page import Asked
from benchmarks.peers.asking.place import Place, new_place
from benchmarks.peers.asking.products import ASKERS, Asker
from benchmarks.peers.asking.tally import tally

_HOUSES: dict[str, Callable[[Place], House]] = {"Postroom": PostroomHouse, "awaithumans": AwaithumansHouse}


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    rounds: int
    questions: int
    burst: int
    kills: int  # at each moment

    @classmethod
    def of(cls, rounds: int, scale: float) -> Size:
        return cls(
            rounds=rounds,
            questions=max(10, round(100 * scale)),
            burst=max(40, round(200 * scale)),
            kills=max(1, round(5 * scale)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    postgres: PostgresServer
    peers: str
    size: Size

    async def run(self, version: Callable[[Asker], str]) -> list[Asked]:
        made = [Asked(asker=one, version=version(one)) for one in ASKERS]
        for number in range(self.size.rounds):
            print(f"asking, round {number + 1} of {self.size.rounds}", flush=True)
            for one in made[number % len(made) :] + made[: number % len(made)]:
                await self._round(one)
        for one in made:
            await self._kills(one)
        return made

    async def _round(self, one: Asked) -> None:
        async with new_place(one.asker, self.postgres, self.peers) as place:
            house = _HOUSES[one.asker.product](place)
            try:
                async with house.running():
                    await one_round(house, _keys(), one.pace, questions=self.size.questions, burst=self.size.burst)
            except (Refused, TimeoutError) as error:
                one.pace.rates.append(None)
                print(f"{error}\n{house.server.last_words()}", file=sys.stderr)
        print(f"  {one.asker.name:<26}{_rate(one)}", flush=True)

    async def _kills(self, one: Asked) -> None:
        async with new_place(one.asker, self.postgres, self.peers) as place:
            house = _HOUSES[one.asker.product](place)
            async with house.running():
                kills = Kills(house, _keys())
                for _, moment in itertools.product(range(self.size.kills), Moment):
                    await kills.at(moment)
                await kills.count_mails()
        one.kills = {moment: tally(fates) for moment, fates in kills.fates.items()}
        print(f"  {one.asker.name:<26}{self.size.kills * len(Moment)} kills", flush=True)


def _keys() -> Iterator[str]:
    return (f"q{number}" for number in itertools.count(1))


def _rate(one: Asked) -> str:
    last = one.pace.rates[-1]
    return "did not finish" if last is None else f"{last:,.1f}/s"


def race(postgres: PostgresServer, peers: str, size: Size, version: Callable[[Asker], str]) -> list[Asked]:
    return asyncio.run(Race(postgres=postgres, peers=peers, size=size).run(version))
