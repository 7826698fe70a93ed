"""Byte order marks, and UTF-16 or UTF-32 without one."""

from __future__ import annotations

import unicodedata
from collections import Counter

_SAMPLE = 32 << 10
# The longer marks first: UTF-32's begins with UTF-16's.
_MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\x84\x31\x95\x33", "gb18030"),
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_WIDE = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
_WHITESPACE = "\t\n\r\x0c"
_SPACES_AND_ENDS = " \n\t\r,.;:-()\"'/0123456789、。，．　"
# Chinese of both scripts, Japanese and Korean in everyday use: the first level of each national standard.
_EVERYDAY = (("gb2312", 0xB0, 0xD7), ("big5", 0xA4, 0xC6), ("euc_jp", 0xA1, 0xCF), ("euc_kr", 0xB0, 0xC8))


def detect_bom(data: bytes | bytearray) -> tuple[str, int] | None:
    """Return the codec that a byte order mark at the beginning declares, and the mark's length."""
    for mark, codec in _MARKS:
        if data.startswith(mark) and not (codec == "utf-32-le" and not _is_utf32(data[len(mark) :], "little")):
            return codec, len(mark)
    return None


def detect_wide(data: bytes | bytearray) -> str | None:
    """Return the UTF-16 or UTF-32 codec of text without a byte order mark, ``None`` when it is neither."""
    sample = bytes(data[:_SAMPLE])
    for codec, order in (("utf-32-le", "little"), ("utf-32-be", "big")):
        if len(data) % 4 == 0 and len(sample) >= 4 and _is_utf32(sample, order) and _is_readable(sample.decode(codec)):
            return codec
    if len(data) % 2 or len(sample) < 2:
        return None
    texts = [(codec, text) for codec in ("utf-16-le", "utf-16-be") if (text := _decode(sample, codec)) is not None]
    fitting = [(codec, text) for codec, text in texts if _is_utf16_text(sample, text)]
    return max(fitting, key=lambda item: _naturalness(item[1]))[0] if fitting else None


def _is_utf32(data: bytes | bytearray, order: str) -> bool:
    """Whether every four bytes are a Unicode scalar value: next to impossible for anything else."""
    high, middle = (3, 2) if order == "little" else (0, 1)
    whole = data[: len(data) // 4 * 4]
    if any(whole[high::4]) or max(whole[middle::4], default=0) > 0x10:
        return False
    try:
        whole.decode("utf-32-le" if order == "little" else "utf-32-be")
    except UnicodeDecodeError:
        return False
    return True


def _decode(sample: bytes, codec: str) -> str | None:
    try:
        return sample.decode(codec)
    except UnicodeDecodeError as exc:
        # The sample may end between the two halves of a pair.
        return sample[: exc.start].decode(codec) if exc.start >= len(sample) - 2 and exc.start else None


def _is_utf16_text(sample: bytes, text: str) -> bool:
    if not _is_readable(text):
        return False
    # Bytes below 0x20 stand in one column of UTF-16 in most scripts, and in no byte-oriented text.
    strays = sum(octet < 0x20 and octet not in (9, 10, 12, 13, 27) for octet in sample)
    if strays * 50 > len(sample) or b"\x00" in sample:
        # Pairs of ASCII letters read as rare Chinese: those bytes are some other text, with control characters.
        return _common_share(text) > 0.7
    # Chinese, Japanese or Korean without a space: only everyday characters throughout prove it.
    return len(text) >= 3 and _everyday_share(text) > 0.9


def _is_readable(text: str) -> bool:
    """Whether nearly all of ``text`` is assigned, visible and no control character."""
    counted = Counter(text)
    bad = sum(number for character, number in counted.items() if _is_bad(character))
    return bad * 50 <= len(text) and bool(text.strip("\x00"))


def _is_bad(character: str) -> bool:
    return unicodedata.category(character) in {"Cc", "Cn", "Co", "Cs"} and character not in _WHITESPACE + "\x1b\x08\x1a"


def _naturalness(text: str) -> float:
    """Return how much ``text`` looks like the right byte order: few blocks, real spaces, everyday characters."""
    spaces = sum(text.count(character) for character in _SPACES_AND_ENDS)
    blocks = len({ord(character) >> 8 for character in text})
    return (spaces - blocks) / len(text) + _common_share(text)


def _common_share(text: str) -> float:
    return sum(number for character, number in Counter(text).items() if _is_common(character)) / len(text)


def _is_common(character: str) -> bool:
    return character < "\u2000" or "\u2010" <= character < "\u2070" or character > "\uffff" or is_everyday(character)


def _everyday_share(text: str) -> float:
    return sum(number for character, number in Counter(text).items() if is_everyday(character)) / len(text)


def is_everyday(character: str) -> bool:
    """Whether the character is Chinese, Japanese or Korean and in everyday use."""
    if character < "\u2e80":
        return False
    for codec, first, last in _EVERYDAY:
        try:
            lead = character.encode(codec)[0]
        except UnicodeEncodeError:
            continue
        if first <= lead <= last:
            return True
    return False
