"""Hide what looks like a secret, and only that: a mask must never hide a piece of a command."""

from __future__ import annotations

import re
from typing import Final

# Only letters, digits and the few signs that keys are made of: nothing that a shell would act on.
_KEY: Final = r"[A-Za-z0-9_\-+/=.]"
_KNOWN: Final = re.compile(
    r"\b(?:sk-|pk-|rk_|ghp_|gho_|ghs_|ghu_|github_pat_|glpat-|xox[abpros]-|AKIA|ASIA|AIza|hf_|npm_|pypi-|pr_[a-z]+_|eyJ)"
    rf"{_KEY}{{12,}}"
)
_NAMED: Final = re.compile(
    r"(?i)((?:pass(?:word|wd)?|secret|token|api[_-]?key|access[_-]?key|authorization|bearer)"
    r"[\"']?\s*[:= ]\s*[\"']?(?:bearer\s+)?)"
    rf"({_KEY}{{8,}})"
)
_IN_ADDRESS: Final = re.compile(rf"(://[^/\s:@]+:)({_KEY}+)(@)")
_SHOWN: Final = 3


def masked(text: str) -> str:
    text = _KNOWN.sub(lambda found: _hidden(found[0]), text)
    text = _IN_ADDRESS.sub(lambda found: f"{found[1]}{_hidden(found[2])}{found[3]}", text)
    return _NAMED.sub(lambda found: found[1] + _hidden(found[2]), text)


def _hidden(secret: str) -> str:
    return secret if "•" in secret else f"{secret[:_SHOWN]}•••"
