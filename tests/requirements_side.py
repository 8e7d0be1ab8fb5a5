"""What the person's side promises: the console, the phone, signing in, and the first ten minutes."""

from __future__ import annotations

SIDE: dict[str, dict[str, str]] = {
    "People": {},
    "Today": {},
    "Phone": {},
    "Signing in": {
        "roles": "Every page of the console is shown to the roles it is for, and to no others.",
        "contacts-do-not-sign-in": "A contact never signs in to the console.",
        "own-pages-only": "A person sees their own inbox, questions, attention and conversations, no other's.",
        "sessions-end-at-once": "A removed person, another role, a revoked token or invitation ends sessions at once.",
        "passkeys": "A passkey signs in with one press; removed, replayed or from elsewhere it does not.",
        "link-by-delivery": "Whoever asks for a link gets it at a verified address, good once, in that browser.",
        "link-tells-nothing": "The answer to who asks for a link does not tell whether that person exists.",
        "link-limits": "Links are limited by person and by sender.",
        "next-page": "Who was led to sign in comes back to the page they wanted, and to no other site.",
        "audit": "The owner sees who signed in, decided and changed what, newest first.",
        "audit-complete": "Every call that changes something is in the audit, or says why it need not be.",
    },
    "Pictures": {},
    "First ten minutes": {},
    "Words": {},
}
