"""What the museum shows: a failure that another system was reported to have, and why it does not happen here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Exhibit:
    """`project` and `number` name the public report; both sentences are our own."""

    id: str
    project: str
    number: int
    failed: str
    avoided: str

    @property
    def report(self) -> str:
        return f"https://github.com/{self.project}/issues/{self.number}"
