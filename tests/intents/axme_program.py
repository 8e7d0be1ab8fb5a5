"""
What users of the AXME SDK do, in the examples' environment: prints what each call answered.

    python axme_program.py URL SENDERS_TOKEN RECEIVERS_TOKEN
"""

from __future__ import annotations

import json
import sys
from itertools import islice
from typing import Any

from axme import AxmeClient, AxmeClientConfig
from axme.exceptions import AxmeHttpError

ANN = "agent://user/ann"


def client(url: str, token: str) -> AxmeClient:
    return AxmeClient(AxmeClientConfig(base_url=url, api_key=token, max_retries=0))


def ask(question: str) -> dict[str, Any]:
    asked = {"question": question, "requested_by": "agent://household/owner", "requested_at": "2026-01-01T00:00:00Z"}
    return {"intent_type": "intent.ask.v1", "to_agent": ANN, "payload": asked}


def refusal(call: Any) -> int:
    try:
        call()
    except AxmeHttpError as error:
        return int(error.status_code)
    return 200


def main(url: str, senders: str, receivers: str) -> dict[str, Any]:
    sender, receiver, said = client(url, senders), client(url, receivers), {}
    said["health"] = sender.health()
    first = sender.send_intent(ask("Three?"), idempotency_key="axme-key-1")
    said["again"] = sender.send_intent(ask("Three?"), idempotency_key="axme-key-1") == first
    said["other"] = refusal(lambda: sender.send_intent(ask("Four?"), idempotency_key="axme-key-1"))
    second = sender.create_intent(ask("Five?"), correlation_id="3f1c7c1e-5d0a-4d6b-9d53-0a8d1a3f8a11")
    said["created"] = second
    heard = list(islice(receiver.listen(ANN, wait_seconds=2, timeout_seconds=20), 2))
    said["heard"] = [one["intent_id"] for one in heard] == [first, second["intent_id"]]
    said["seqs"] = [one["seq"] for one in heard]
    later = next(receiver.listen(ANN, since=heard[0]["seq"], wait_seconds=2, timeout_seconds=20))
    said["since"] = later["intent_id"] == second["intent_id"]
    said["got"] = sender.get_intent(first)["intent"]["status"]
    said["resolved"] = receiver.resolve_intent(
        first, {"status": "COMPLETED", "result": {"answer": "Yes"}}, idempotency_key="axme-resolve-1"
    )
    said["resolved_again"] = (
        receiver.resolve_intent(
            first, {"status": "COMPLETED", "result": {"answer": "Yes"}}, idempotency_key="axme-resolve-1"
        )
        == said["resolved"]
    )
    said["observed"] = [one["status"] for one in sender.observe(first, timeout_seconds=20)]
    said["waited"] = sender.wait_for(first, timeout_seconds=20)["status"]
    ended = next(receiver.listen(ANN, status="COMPLETED,FAILED", wait_seconds=2, timeout_seconds=20))
    said["filtered"] = ended["intent_id"] == first
    said["no_status"] = refusal(lambda: next(receiver.listen(ANN, status="ASLEEP", wait_seconds=2, timeout_seconds=5)))
    said["inbox"] = [one["thread_id"] for one in receiver.list_inbox()["threads"]]
    said["replied"] = receiver.reply_inbox_thread(second["intent_id"], message="Five it is", idempotency_key="axme-r1")
    said["thanked"] = sender.reply_inbox_thread(first, message="Thank you", idempotency_key="axme-r2")
    said["welcomed"] = receiver.reply_inbox_thread(first, message="Any time")
    said["thread"] = receiver.get_inbox_thread(first)["thread"]
    page = receiver.list_inbox_changes(limit=2)
    said["changes"] = [len(page["changes"]), page["has_more"]]
    said["next"] = len(receiver.list_inbox_changes(cursor=page["next_cursor"], limit=100)["changes"]) > 0
    said["stranger"] = refusal(lambda: client(url, "wrong").list_inbox())
    return said


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
