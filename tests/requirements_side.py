"""What the person's side promises: the console, the phone, signing in, and the first ten minutes."""

from __future__ import annotations

SIDE: dict[str, dict[str, str]] = {
    "People": {},
    "Today": {},
    "Phone": {},
    "Signing in": {},
    "Pictures": {},
    "First ten minutes": {},
    "Words": {},
}
