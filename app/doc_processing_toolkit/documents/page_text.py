"""The text of a PDF page made clean: line ends, spaces, hyphens, and characters that say nothing."""

from __future__ import annotations

import re
import unicodedata

from doc_processing_toolkit.documents.names import is_noncharacter

# PDFium writes U+FFFE where a word was divided at a line's end, and the line end itself is gone.
_DIVIDED = re.compile("(?<=\\w)\ufffe(?=\\w)")
_SOFT_HYPHEN_AT_END = re.compile("\u00ad(?=\n)")
_AT_LINE_END = re.compile(" +(?=\n)")
_GAP = re.compile("\n{3,}")
_PLAIN = frozenset("\n" + "".join(map(chr, range(0x20, 0x7F))))
_BULLETS = {0xF0B7: "•", 0xF0A7: "▪", 0xF0D8: "▸", 0xF0FC: "✓", 0xF0E0: "→"}


def clean_page(raw: str) -> str:
    """Return a page's text with ``\\n`` line ends, plain spaces and no control characters.

    A word divided at the end of a line keeps its hyphen and its line end; ligatures become letters; at most one
    blank line stands between two lines. What no font explained is U+FFFD.
    """
    text = raw.replace("\r\n", "\n").replace("\r", "\n")
    # Most pages hold nothing unusual, and a page has to be quick.
    if unusual := set(text) - _PLAIN:
        text = _SOFT_HYPHEN_AT_END.sub("-", _DIVIDED.sub("-\n", text))
        text = text.translate({ord(character): _cleaned(character) for character in unusual})
    if " \n" in text:
        text = _AT_LINE_END.sub("", text)
    if "\n\n\n" in text:
        text = _GAP.sub("\n\n", text)
    return text.strip()


def unexplained_share(text: str) -> float:
    """Return which share of a clean page's visible characters no font explained."""
    unexplained = text.count("\ufffd")
    return unexplained / len("".join(text.split())) if unexplained else 0.0


def _cleaned(character: str) -> str:
    code = ord(character)
    if code in _BULLETS:
        return _BULLETS[code]
    if 0xFB00 <= code <= 0xFB06:
        return unicodedata.normalize("NFKC", character)
    if character in "\t\u2028\u2029\x0b\x0c\x85":
        return " " if character == "\t" else "\n"
    match unicodedata.category(character):
        case "Zs":
            # The ideographic space is as wide as a character and belongs to the text.
            return character if character == "\u3000" else " "
        case "Cc":
            return ""
        case "Cf":
            # The joiners and the marks of direction shape what is read; these do not.
            return "" if character in "\u00ad\u200b\u2060\ufeff" else character
        case "Co" | "Cs":
            # No font explained it: symbol fonts put their signs into the private area.
            return "\ufffd"
    return "\ufffd" if is_noncharacter(character) else character
