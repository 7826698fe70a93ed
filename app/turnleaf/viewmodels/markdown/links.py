"""Which addresses a text may lead to."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

SAFE_SCHEMES = frozenset({"http", "https", "mailto"})

_BARE = re.compile(r"\bhttps?://[^\s<>\"\u2009\u2028]+", re.IGNORECASE)
_TRAILING = ".,;:!?'\"*_~"


def safe_address(address: str) -> str:
    """Return `address` if it may be offered as a link (http, https, mailto), else an empty text."""
    if any(character <= " " or character == "\x7f" for character in address):
        return ""
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    if parts.scheme.lower() not in SAFE_SCHEMES:
        return ""
    return address if parts.scheme.lower() == "mailto" or parts.netloc else ""


def bare_addresses(text: str) -> list[tuple[int, int]]:
    """Return where web addresses stand in `text` as they are, without the punctuation that ends a sentence."""
    found = []
    for match in _BARE.finditer(text):
        start, end = match.span()
        while end > start and _ends_outside(text[start:end]):
            end -= 1
        if safe_address(text[start:end]):
            found.append((start, end))
    return found


def _ends_outside(address: str) -> bool:
    last = address[-1]
    if last in _TRAILING:
        return True
    return (last == ")" and address.count(")") > address.count("(")) or (
        last == "]" and address.count("]") > address.count("[")
    )
