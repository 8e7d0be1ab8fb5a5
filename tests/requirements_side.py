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
    "Today": {},
    "Phone": {},
    "Signing in": {},
    "Pictures": {},
    "First ten minutes": {},
    "Words": {},
}
