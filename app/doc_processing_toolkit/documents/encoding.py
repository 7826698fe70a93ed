"""Which encoding the bytes of a text are in, and how sure that is."""

from __future__ import annotations

import codecs
import re
from itertools import pairwise
from typing import NamedTuple

from doc_processing_toolkit.documents.plausibility import CONTROLS, detect_bom, detect_wide, has_many_controls

_SLICE = 1 << 20
_SAMPLE = 16 << 10
_LONGEST_LINE = 2 << 10
_BEFORE = 64
# Below this, characters that are UTF-16 as well are no proof of it.
_WIDE_AT_LEAST = 32
_ASCII = bytes(range(0x80))
_BEYOND_ASCII = re.compile("[^\x00-\x7f]")
# HTML, XML and some programs say at the beginning what they are in.
_DECLARATION = re.compile(rb"[\x00-\x7f]{0,1024}?(?:charset|coding)[\x00-\x7f]{0,64}", re.IGNORECASE)
# Only lines with such bytes tell encodings apart. ASCII before the first of them is no part of a character.
_TELLING = re.compile(rb"[\x80-\xff][^\n]*\n?")
_SEVEN_BIT_ESCAPE = re.compile(rb"(?:\x1b\$|\x1b\(|~\{)[^\n]*\n?")
_SEVEN_BIT = ("iso2022", "hz")
# Errors a sound character, or a byte beyond ASCII: up to here a text is damaged, beyond it is something else.
_UTF8_ERRORS, _OLDER_ERRORS = 0.2, 0.1
# Two scripts inside a word, or C1 control characters: no text is like that, in the right encoding.
_ODDITIES = re.compile("[A-Za-z\u00c0-\u024f][\u0370-\u1eff]|[\u0370-\u1eff][A-Za-z\u00c0-\u024f]|[\x80-\x84\x86-\x9f]")
_ODD = 0.1
# A clean text in an encoding of several bytes a character is recognised with this much confidence, others seldom.
_SURE = 0.6
# With less confidence than this the detector has no idea.
_CLUELESS, _COMMONEST = 0.03, "cp1252"
# Met in no document any more, but by chance alike to a few words in the encodings that are.
_EXTINCT = (
    *("utf-7", "hp-roman8", "mac-iceland", "mac-turkish", "iso8859-3", "iso8859-4", "iso8859-10", "iso8859-14"),
    *("iso8859-16", "cp424", "cp856", "cp864", "cp875", "cp1006", "cp1026", "koi8-t", "kz1048", "ptcp154"),
    "shift_jis_2004",
)
# The relative that is written today: taken where the text is the same, for it may have what comes further on.
_TODAY = {
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "iso8859-15": "cp1252",
    "tis-620": "cp874",
    "euc_jis_2004": "euc_jp",
    "euc_kr": "cp949",
}


class Encoding(NamedTuple):
    """A Python codec, the length of the byte order mark before the text, and whether it was guessed."""

    codec: str
    skip: int = 0
    guessed: bool = False


def detect_encoding(data: bytes | bytearray, *, is_whole: bool = True) -> Encoding | None:
    """Return the encoding of a text's bytes, ``None`` when they are no text.

    ``is_whole`` is false for the beginning of a text, which may end inside a character.

    A byte order mark decides, then UTF-8's own structure; the rest is guessed.
    """
    if marked := detect_bom(data):
        return Encoding(*marked)
    many_controls = has_many_controls(data[:_SLICE])
    if not many_controls:
        if codec := _seven_bit(data):
            return Encoding(codec, guessed=True)
        if _is_utf8(data, is_whole):
            return Encoding("utf-8")
    if (many_controls or len(data) >= _WIDE_AT_LEAST) and (codec := detect_wide(data)):
        return Encoding(codec, guessed=True)
    if many_controls:
        return None
    return Encoding("utf-8" if _is_damaged_utf8(data) else _older(data), guessed=True)


def _seven_bit(data: bytes | bytearray) -> str | None:
    """Return the encoding that writes its text in ASCII with escapes between, if it is one."""
    if not data.isascii() or not (sample := b"".join(_lines(_SEVEN_BIT_ESCAPE, data))):
        return None
    return next((codec for codec, _ in _guesses(sample)[:1] if codec.startswith(_SEVEN_BIT)), None)


def _is_utf8(data: bytes | bytearray, is_whole: bool) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(data), _SLICE):
            decoder.decode(data[start : start + _SLICE], is_whole and start + _SLICE >= len(data))
    except UnicodeDecodeError:
        return False
    return True


def _is_damaged_utf8(data: bytes | bytearray) -> bool:
    errors, sound = _errors(data, "utf-8"), 0
    for start in range(0, len(data), _SLICE):
        text = bytes(data[start : start + _SLICE]).decode("utf-8", "ignore")
        sound += 0 if text.isascii() else len(_BEYOND_ASCII.findall(text))
    return errors + sound > 0 and errors <= sound * _UTF8_ERRORS


def _older(data: bytes | bytearray) -> str:
    """Return the likeliest of the older encodings in which the whole of ``data`` makes sense."""
    lines = [line.translate(None, CONTROLS + b"\x0e\x0f\x1a\x1b") for line in _lines(_TELLING, data)]
    declaration = _DECLARATION.match(data)
    sample = (declaration[0] if declaration else b"") + b"".join(lines)
    guesses = _guesses(sample)
    if guesses[0][1] < _SURE:
        # One broken byte rules an encoding of several bytes out for good: other lines may be whole.
        parts = [part for start in range(4) if (part := b"".join(lines[start::4]))]
        guesses = [*(guess for part in parts for guess in _guesses(part)[:1] if guess[1] >= _SURE), *guesses]
    most = len(data.translate(None, _ASCII)) * _OLDER_ERRORS
    fitting = (codec for codec, _ in guesses if _makes_sense(sample, codec) and _errors(data, codec) <= most)
    return codecs.lookup(next(fitting, guesses[0][0])).name


def _lines(pattern: re.Pattern[bytes], data: bytes | bytearray) -> list[bytes]:
    lines: list[bytes] = []
    room, last = _SAMPLE, 0
    for found in pattern.finditer(data):
        start, end = found.span()
        lines.append(bytes(data[max(last, start - _BEFORE) : min(end, start + room, start + _LONGEST_LINE)]))
        room, last = room - len(lines[-1]), end
        if room <= 0:
            break
    return lines


def _guesses(sample: bytes) -> list[tuple[str, float]]:
    """Return codecs with the detector's confidence in each, the likeliest first; never none."""
    # Imported only here: it costs more than reading a short document.
    import chardet

    # The line end keeps a text from being taken for the binary format whose first letters it begins with.
    data = b"\n" + sample
    best = chardet.detect(data, compat_names=False, exclude_encodings=_EXTINCT)
    others = chardet.detect_all(data, compat_names=False, exclude_encodings=_EXTINCT, ignore_threshold=True)
    guesses = [(_today(name, sample), guess["confidence"]) for guess in (best, *others) if (name := guess["encoding"])]
    return guesses if guesses and guesses[0][1] >= _CLUELESS else [(_COMMONEST, 0.0), *guesses]


def _today(codec: str, sample: bytes) -> str:
    relative = _TODAY.get(codec)
    if relative and sample.decode(relative, "replace") == sample.decode(codec, "replace"):
        return relative
    return codec


def _makes_sense(sample: bytes, codec: str) -> bool:
    text = sample.decode(codec, "replace")
    capitals = sum(second > "\x7f" and second.isupper() and first.islower() for first, second in pairwise(text))
    return len(_ODDITIES.findall(text)) + capitals <= _ODD * len(_BEYOND_ASCII.findall(text))


def _errors(data: bytes | bytearray, codec: str) -> int:
    decoder = codecs.getincrementaldecoder(codec)("replace")
    slices = (bytes(data[start : start + _SLICE]) for start in range(0, len(data), _SLICE))
    return sum(decoder.decode(piece).count("\ufffd") for piece in slices)
