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
    "Phone": {},
    "Signing in": {},
    "Pictures": {},
    "First ten minutes": {},
    "Words": {},
}
