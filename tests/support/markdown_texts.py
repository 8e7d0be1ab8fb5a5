"""Markdown nobody would think of: words in random markup, and the signs of markup in any order."""

from __future__ import annotations

from hypothesis import strategies as st

_WORDS = st.sampled_from(
    ["ada", "né", "😀", "a_b", "x*y", "@everyone", "<b>", "<!channel>", "evil.example", "1.", "&amp;"]
)
_LINK = "[{}](https://host.example/p?q=1_2&r=_)"
_WRAPS = st.sampled_from(["{}", "**{}**", "*{}*", "~~{}~~", "`{}`", _LINK, "![{}](https://i.example/)", "***{}***"])
_LINES = st.sampled_from(["{}", "# {}", "> {}", "- {}", "1. {}", "> - {}", "```py\n{}\n```", "> > {}", "{}\n", "\n{}"])
_words = st.lists(st.tuples(_WRAPS, _WORDS), min_size=1, max_size=6).map(
    lambda words: " ".join(wrap.format(word) for wrap, word in words)
)
_documents = st.lists(st.tuples(_LINES, _words), min_size=1, max_size=8).map(
    lambda lines: "\n".join(line.format(words) for line, words in lines)
)
_signs = st.text(alphabet="ab 1\n\t*_~`[]()<>#-+.!|\\:@&é😀/", min_size=1, max_size=60)
markdown = st.one_of(
    _documents, _signs, st.builds(lambda text, times: f"{text}\n\n" * times, _documents, st.integers(1, 4))
)


def inked(text: str) -> str:
    """Without white space, which a cut or a block may leave out."""
    return "".join(text.split())
