"""The installed suite itself: it passes what is right and finds what is wrong."""
