"""Secrets out of text before it is written or shown."""

import re
from collections.abc import Iterable
from functools import lru_cache

HIDDEN = "[redacted]"
SHORTEST = 6

HINTS = (
    *("sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "AKIA", "ASIA", "AIza", "xox"),
    *("earer", "EARER", "PRIVATE KEY"),
)
"""A text without any of these holds no well-known key, which plain searching finds faster than a pattern."""

PATTERNS = (
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    r"(?<![A-Za-z0-9])sk-(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{16,}",
    r"(?<![A-Za-z0-9])gh[pousr]_[A-Za-z0-9]{20,}",
    r"(?<![A-Za-z0-9])github_pat_[A-Za-z0-9_]{20,}",
    r"(?<![A-Za-z0-9])A[KS]IA[0-9A-Z]{16}(?![0-9A-Za-z])",
    r"(?<![A-Za-z0-9])AIza[0-9A-Za-z_-]{30,}",
    r"(?<![A-Za-z0-9])xox[a-z]-[A-Za-z0-9-]{10,}",
)
BEARER = r"(?i:(\bbearer\s+))[A-Za-z0-9._~+/=-]{12,}"


@lru_cache(maxsize=1)
def _known() -> tuple[re.Pattern[str], re.Pattern[str]]:
    return re.compile("|".join(PATTERNS), re.DOTALL), re.compile(BEARER)


class Redactor:
    """Replaces the values it was given, and where it is asked to, well-known forms of keys."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        usable = {secret.strip() for secret in secrets}
        # The longest first, so that a secret that contains another is hidden whole.
        self._secrets = tuple(sorted((each for each in usable if len(each) >= SHORTEST), key=len, reverse=True))

    def hide(self, text: str) -> str:
        """Without the values it was given; whatever else looks like a key stays."""
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, HIDDEN)
        return text

    def clean(self, text: str) -> str:
        """Also without well-known forms of keys."""
        text = self.hide(text)
        if not any(hint in text for hint in HINTS):
            return text
        keys, bearer = _known()
        return bearer.sub(rf"\g<1>{HIDDEN}", keys.sub(HIDDEN, text))

    def __repr__(self) -> str:
        return f"Redactor({len(self._secrets)} secrets)"
