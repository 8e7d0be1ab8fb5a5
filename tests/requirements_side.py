"""What the person's side promises: the console, the phone, signing in, and the first ten minutes."""

from __future__ import annotations

SIDE: dict[str, dict[str, str]] = {
    "People": {},
    "Today": {},
    "Phone": {},
    "Signing in": {},
    "Pictures": {},
    "First ten minutes": {
        "moving-picture": "README begins with a small moving picture of a real run; a run of today says the same.",
        "screenshots": "One script takes a picture of every page of the console, and names those nothing leads to.",
        "tutorial": "The tutorial tells, asks, approves, connects a client and goes live; every step is run by a test.",
        "installed": "The wheel installs by pipx and uv into an environment of its own, and runs in an empty home.",
        "container": "The container's steps, done without a container engine, give a household that is healthy.",
        "claims": "What README and the index of the documentation claim has a test or a measurement behind it.",
    },
    "Words": {},
}
