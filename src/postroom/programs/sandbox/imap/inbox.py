"""The sandbox's mailbox as IMAP sees it: what people wrote to one address, under numbers that never change."""

from __future__ import annotations

from typing import Final

from postroom.programs.sandbox.email_ledger import EmailLedger
from postroom.programs.sandbox.imap.mail_bytes import AUTHSERV_ID
from postroom.programs.sandbox.records import StoredMail

_MOST: Final = 10_000


class ImapInbox:
    """A look at it: mails that come later are seen after `refresh`, which answers whether there are any."""

    def __init__(self, ledger: EmailLedger, address: str) -> None:
        self._ledger = ledger
        self._address = address.lower()
        self._last = 0
        self.uids: list[int] = []
        self.validity = ledger.validity()
        self.refresh()

    @property
    def next_uid(self) -> int:
        return self._last + 1

    def refresh(self) -> bool:
        before = len(self.uids)
        for kept in self._ledger.mails(from_person=True, since=self._last, limit=_MOST):
            self._last = kept.email_id
            if self._is_here(kept):
                self.uids.append(kept.email_id)
        return len(self.uids) > before

    def mail(self, uid: int) -> StoredMail | None:
        """None when it was cleared."""
        found = self._ledger.mails(from_person=True, since=uid - 1, limit=1)
        return self._ledger.with_files(found[0]) if found and found[0].email_id == uid else None

    def _is_here(self, kept: StoredMail) -> bool:
        """To this address, with or without a tag; and what is written to no mailbox of the sandbox comes to all."""
        addresses = [one.lower().strip(" <>") for one in kept.mail.recipients]
        at_home = [one for one in addresses if one.endswith(f"@{AUTHSERV_ID}")]
        return not at_home or any(_untagged(one) == self._address for one in at_home)


def _untagged(address: str) -> str:
    box, _, domain = address.rpartition("@")
    return f"{box.partition('+')[0]}@{domain}"
