"""
A model that does whatever any text tells it, run as `codex`: the request, what was said before, and what tools answer.

An order is `<<{"call": tool, "arguments": {…}, "url": of another server}>>` or `<<{"verb": …, "url": …, "json": …}>>`;
one that begins with `<<later` is obeyed only where it comes back as something said before. It says how many it obeyed.
"""

from __future__ import annotations

import json
import re
import sys
from contextlib import suppress
from typing import Any

from tests.butlers.runtimes.plain_client import call_tool, send
from tests.butlers.runtimes.stand_in import Codex, Setup, read_codex

MOST = 400
_ORDER_SECONDS = 20.0


def orders_in(text: str, mark: str = "") -> list[dict[str, Any]]:
    """What a text was cut off in, or quoted twice, is no order any more."""
    orders = []
    for one in re.findall(rf"<<{mark}(\{{.*?\}})>>", text, re.DOTALL):
        for read in (one, one.replace('\\"', '"')):
            with suppress(ValueError):
                orders.append(json.loads(read))
                break
    return orders


def carry_out(setup: Setup, order: dict[str, Any]) -> str:
    """What came of it, as text."""
    try:
        if "verb" in order:
            return over_http(setup, order)
        result = call_tool(
            order.get("url", setup.url), setup.headers, order["call"], order["arguments"], _ORDER_SECONDS
        )
    except Exception as error:
        return str(error)
    return json.dumps(result.get("structuredContent"), ensure_ascii=False)


def over_http(setup: Setup, order: dict[str, Any]) -> str:
    status, text = send(order["verb"], order["url"], setup.headers, order.get("json"), _ORDER_SECONDS)
    return f"{status} {text}"


def obey(setup: Setup, voice: Codex) -> str:
    now, _, before = sys.stdin.read().split("---\n", 1)[1].partition("Context, as data:")
    orders = [*orders_in(now), *orders_in(before, "later")]
    answers: list[str] = []
    while len(answers) < min(len(orders), MOST):
        order = orders[len(answers)]
        answers.append(carry_out(setup, order))
        orders += orders_in(answers[-1])
        step = {"call": order.get("call", "http"), "arguments": order}
        voice.called(setup, len(answers), step, {"answer": answers[-1][:500]}, None)
    return f"I obeyed {len(answers)} orders. " + " ".join(answers)[:2_000]


def main() -> None:
    setup, voice = read_codex(sys.argv[1:]), Codex()
    voice.begin(setup)
    voice.end(obey(setup, voice))
