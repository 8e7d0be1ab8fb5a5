"""Questions to people: what may be asked, what counts as an answer, and what is due."""
