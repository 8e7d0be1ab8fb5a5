"""What the person's side promises: the console, the phone, signing in, and the first ten minutes."""

from __future__ import annotations

SIDE: dict[str, dict[str, str]] = {
    "People": {},
    "Today": {},
    "Phone": {},
    "Signing in": {},
    "Pictures": {
        "figures-from-the-ledger": "Every figure of a picture is what a count of the ledger's own rows gives, by "
        "channel, by agent and by stretch of time.",
        "figures-are-bounded": "No picture reads a whole table: deliveries, notices and questions are counted along "
        "their indexes.",
        "figures-agree": "The page, the answer of /v1/figures and the CSV show the same figures.",
        "figures-of-ones-own": "The owner sees the household's figures, another person only what was said to them and "
        "asked of them, and no program sees any.",
        "figures-without-sight": "Each picture has a title, a description in one sentence and the same figures as a "
        "table, and colour never stands alone.",
        "export-what-is-listed": "Each list is downloaded as CSV with the filters on screen, holds what the list holds "
        "to its end, and nothing that the list hides.",
        "export-is-harmless": "No cell of an export can be taken for a formula, and each reads back as it was written.",
        "health-in-plain-words": "Health says of each channel whether it works, what it means and what to do, and "
        "folds the figures of breakers and limits away.",
    },
    "First ten minutes": {},
    "Words": {},
}
