"""What the person's side promises: the console, the phone, signing in, and the first ten minutes."""

from __future__ import annotations

SIDE: dict[str, dict[str, str]] = {
    "People": {
        "people-by-name": "Where an address stood, a page shows the person's name with their initials, the visitor as "
        "you, and the address one tap away; an address that no person has is shown as it is, and can be added.",
    },
    "Today": {
        "time-left": "A time that is left is never said so short that a person is misled: 47 hours are no day",
    },
    "Phone": {},
    "Signing in": {},
    "Pictures": {},
    "First ten minutes": {},
    "Words": {},
}
