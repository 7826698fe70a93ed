"""Which encoding the bytes of a text are in, and how sure that is."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from doc_processing_toolkit.documents.legacy import guess_legacy
from doc_processing_toolkit.documents.plausibility import has_many_controls
from doc_processing_toolkit.documents.wide import detect_bom, detect_wide

_SLICE = 1 << 20
_SAMPLE = 16 << 10
_BEYOND_ASCII = re.compile("[^\x00-\x7f]")
_SEVEN_BIT = (
    (re.compile(rb"\x1b\$[@B]|\x1b\([JI]|\x1b\$\("), ("iso2022_jp", "iso2022_jp_ext", "iso2022_jp_2", "iso2022_kr")),
    (re.compile(rb"\x1b\$\)C"), ("iso2022_kr",)),
    (re.compile(rb"~\{(?:[\x21-\x77][\x21-\x7e])+~\}"), ("hz",)),
)
# Below this a guess is no text that we know; far below, none at all.
_DOUBTFUL, _HOPELESS = -4.4, -4.9
_ENOUGH_TO_REFUSE = 48
# Errors a sound character: up to here UTF-8 is damaged, beyond it is something else.
_ERRORS_PER_CHARACTER = 0.2
# The national standard inside its vendor's extension: the better known name, where it is enough.
_NARROWER = {"cp932": "shift_jis", "cp949": "euc_kr", "cp950": "big5"}


class Encoding(NamedTuple):
    """A Python codec, the length of the byte order mark before the text, and whether it was guessed."""

    codec: str
    skip: int = 0
    guessed: bool = False


def detect_encoding(data: bytes | bytearray, *, is_whole: bool = True) -> Encoding | None:
    """Return the encoding of a text's bytes, ``None`` when they are no text.

    ``is_whole`` is false for the beginning of a text, which may end inside a character.

    A byte order mark decides, then UTF-8's own structure; the rest is guessed: UTF-16 and UTF-32 by their shape,
    seven-bit encodings by their escapes, all others by which language the bytes would be likeliest text of.
    """
    if marked := detect_bom(data):
        return Encoding(*marked)
    many_controls = has_many_controls(data[:_SLICE])
    if not many_controls:
        if codec := _seven_bit(data):
            return Encoding(codec, guessed=True)
        if _is_utf8(data, is_whole):
            return Encoding("utf-8")
    if codec := detect_wide(data if is_whole else data[: len(data) // 4 * 4]):
        return Encoding(codec, guessed=True)
    if many_controls:
        return None
    return Encoding("utf-8", guessed=True) if _is_damaged_utf8(data) else _guess_eight_bit(data)


def _seven_bit(data: bytes | bytearray) -> str | None:
    if not data.isascii():
        return None
    for escapes, codecs_with_it in _SEVEN_BIT:
        if escapes.search(data):
            return next((codec for codec in codecs_with_it if _decodes_beyond_ascii(data, codec)), None)
    return None


def _decodes_beyond_ascii(data: bytes | bytearray, codec: str) -> bool:
    try:
        return not codecs.getincrementaldecoder(codec)().decode(bytes(data)).isascii()
    except UnicodeDecodeError:
        return False


def _is_utf8(data: bytes | bytearray, is_whole: bool) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(data), _SLICE):
            decoder.decode(data[start : start + _SLICE], is_whole and start + _SLICE >= len(data))
    except UnicodeDecodeError:
        return False
    return True


def _is_damaged_utf8(data: bytes | bytearray) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    errors = sound = 0
    for start in range(0, len(data), _SLICE):
        text = decoder.decode(data[start : start + _SLICE])
        if not text.isascii():
            errors += text.count("\ufffd")
            sound += len(_BEYOND_ASCII.findall(text))
    return errors + sound > 0 and errors <= (sound - errors) * _ERRORS_PER_CHARACTER


def _guess_eight_bit(data: bytes | bytearray) -> Encoding | None:
    guess = guess_legacy(data)
    if guess.likelihood < _DOUBTFUL:
        # Imported only here: it costs as much as reading a short document.
        import charset_normalizer

        match = charset_normalizer.from_bytes(bytes(data[:_SAMPLE])).best()
        if match is not None:
            return Encoding(codecs.lookup(match.encoding).name, guessed=True)
        if guess.likelihood < _HOPELESS and len(data) >= _ENOUGH_TO_REFUSE:
            return None
    return Encoding(_familiar_name(guess.codec, data), guessed=True)


def _familiar_name(codec: str, data: bytes | bytearray) -> str:
    narrower = _NARROWER.get(codec)
    if narrower and data.decode(narrower, "replace") == data.decode(codec, "replace"):
        codec = narrower
    return codecs.lookup(codec).name
