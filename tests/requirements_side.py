"""What the person's side promises: the console, the phone, signing in, and the first ten minutes."""

from __future__ import annotations

SIDE: dict[str, dict[str, str]] = {
    "People": {},
    "Today": {},
    "Phone": {
        "app-installable": "The console can be installed: a manifest with icons, and a worker that covers it.",
        "app-offline": "Without a network the app says so, and shows nothing private: none of it was kept.",
        "push-encrypted": "What is sent to a device can be read by its browser and by nothing on the way.",
        "push-identity": "A push service is shown who sends, for itself alone and for less than a day.",
        "push-no-inside": "An endpoint is called only over TLS and only on the open internet.",
        "push-gone": "A device whose subscription is gone is not tried again, and the next one takes its place.",
        "push-replaces": "A correction takes the place of what it corrects, on its way and on the device.",
        "push-once": "A second copy of a delivery neither rings again nor undoes what came after it.",
        "push-cut": "A text that is too long is cut, says so, and is whole on its page.",
        "push-press": "A press on a notification is one attempt, and the notification says how it ended.",
        "devices-own": "People see, try and remove their own devices, each alone, and no one else's.",
        "devices-sealed": "Where a device is reached is sealed in the database and shown nowhere.",
    },
    "Signing in": {},
    "Pictures": {},
    "First ten minutes": {},
    "Words": {},
}
