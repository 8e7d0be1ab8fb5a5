"""What the person's side promises: the console, the phone, signing in, and the first ten minutes."""

from __future__ import annotations

SIDE: dict[str, dict[str, str]] = {
    "People": {
        "people-by-name": "Where an address stood, a page shows the person's name with their initials, the visitor as "
        "you, and the address one tap away; an address that no person has is shown as it is, and can be added.",
        "person-page": "A person's page shows their addresses and the state of each, what was said both ways, what "
        "they were asked, their attention and pairing; a member sees only their own.",
        "search-by-name": "A name or an alias typed into the search of deliveries, dead letters, conversations and "
        "questions finds what concerns that person.",
        "content-first": "On a phone a list comes before its filters, which lie behind a button that says how many are "
        "in use, and a row takes at most two lines; without script as well.",
        "safe-links": "A link in a message can be followed only to the web, opens apart, and says beside it which host "
        "it leads to; what hides its target is never a link.",
    },
    "Today": {
        "time-left": "A time that is left is never said so short that a person is misled: 47 hours are no day.",
        "one-place": "Today shows what waits for a person in one list, questions and messages that need their "
        "word, each decided there by the same route as on its own page; a message stands there once; "
        "a decision taken elsewhere meanwhile is said.",
        "counts-agree": "What Today, the navigation and the lists count is what the API counts.",
        "live-calm": "A page that is brought up to date keeps the keyboard, what is open, what is typed and where "
        "it is scrolled to, and is not touched when nothing changed.",
        "in-reach": "On a phone what is used most stands in a bar within the thumb's reach, and the rest, with "
        "the theme and signing out, behind one button that needs no script.",
        "sandbox-said": "While a household runs on its sandbox, every page says so, also the one for signing in.",
        "inbox-first": "The inbox shows who left each note, of which kind and when, before any control, and takes an "
        "act for many of them at once.",
        "no-script": "Without a script each decision is still possible.",
        "by-keyboard": "Each decision is reached and taken by keyboard alone.",
        "every-page": "Every page has no accessibility fault in either theme at either width, works by keyboard and "
        "without script, has targets of 44 pixels on a phone, and does not move where no motion is "
        "wanted.",
    },
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
    "Pictures": {
        "health-in-plain-words": "Health says of each channel whether it works, what it means and what to do, and "
        "folds the figures of breakers and limits away.",
    },
    "First ten minutes": {
        "moving-picture": "README begins with a small moving picture of a real run; a run of today says the same.",
        "screenshots": "One script takes a picture of every page of the console, and names those nothing leads to.",
        "tutorial": "The tutorial tells, asks, approves, connects a client and goes live; every step is run by a test.",
        "installed": "The wheel installs by pipx and uv into an environment of its own, and runs in an empty home.",
        "container": "The container's steps, done without a container engine, give a household that is healthy.",
        "claims": "What README and the index of the documentation claim has a test or a measurement behind it.",
    },
    "Words": {
        "words-alone": "Without arguments `postroom` says what runs and what waits, quickly and honestly.",
        "words-json": "Every command that prints a result has --json, and says under it in JSON what went wrong.",
        "words-completion": "The Tab key completes commands, options and fixed words.",
        "words-progress": "Work of more than two seconds shows how far it is, and never in a script's way.",
        "words-errors": "An error says what to do, and the command it names exists.",
        "words-glossary": "One word, one thing: the glossary holds every word, and no twin is used for it.",
        "words-help": "Help has an order, and every command an example that is understood.",
    },
}
