"""Which of the older encodings a text is in: the one in which its bytes are the likeliest text of a language."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from functools import cache, lru_cache
from typing import NamedTuple

from doc_processing_toolkit.documents.charsets import CHARSETS, LANGUAGES, SIGNS, Charset
from doc_processing_toolkit.documents.wide import is_everyday

_SAMPLE = 12 << 10
_MOST_OF_A_LINE = 1 << 10
_HIGH = re.compile(rb"[^\n]*?[\x80-\xff][^\n]*\n?")

# Shares of the characters beyond ASCII, as natural logarithms where they are used.
_IN_CASE, _IN_OTHER_CASE = 0.94, 0.06
_EVERYDAY, _RARE, _WRONG = -9.0, -13.0, -16.0
_OTHER_LETTER, _LINE_DRAWING, _OTHER_SIGN = -9.0, -5.0, -8.0
_ASCII_CHARACTER = -2.5

# A text is looked at through the class of each character: a/A ASCII letters, l/u/o other letters in lower, upper or
# without case, c Chinese, Japanese and Korean, 0 a digit, # line drawing, . another sign; the rest stays itself.
_ASCII_CLASSES = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ123456789", "a" * 26 + "A" * 26 + "0" * 9
)


class _Oddity(NamedTuple):
    """What words seldom look like, and what each case of it costs."""

    pattern: re.Pattern[str]
    cost: float


_ODDITIES = (
    _Oddity(re.compile("(?=[al]u|lA)"), -3.0),  # a capital inside a word
    _Oddity(re.compile("(?=uA[al]|Au[al])"), -2.0),  # two capitals before small letters
    _Oddity(re.compile(r"(?<=[aAluo])\.(?=[aAluo])"), -3.0),  # a sign inside a word
    _Oddity(re.compile("(?=[luo]0|0[luo])"), -2.5),  # a letter beside a digit
    _Oddity(re.compile("(?=[luo]#|#[luo])"), -4.0),  # line drawing beside a letter beyond ASCII
    _Oddity(re.compile("f(?=[aAluo])"), -3.0),  # a letter's final form before the end of a word
)
_LATIN_ODDITIES = (
    _Oddity(re.compile("(?=[luo][luo])"), -1.0),  # two letters beyond ASCII together
    _Oddity(re.compile("(?<![aAluo'])[lu](?![aAluo'])"), -1.5),  # a word of one such letter
)
_OTHER_ODDITIES = (
    _Oddity(re.compile("(?=[aA][luof]|[luof][aA])"), -3.5),  # two scripts in one word
)


class Guess(NamedTuple):
    """A codec and the mean log-likelihood (nats) of a character beyond ASCII under it; above -7 is a real text."""

    codec: str
    likelihood: float


def guess_legacy(data: bytes | bytearray) -> Guess:
    """Return the likeliest of the older encodings for ``data``, which must hold bytes beyond ASCII."""
    sample = _sample(data)
    scores = {charset.codec: _score(sample, charset) - charset.rarity for charset in CHARSETS}
    best = max(scores, key=lambda codec: scores[codec])
    return Guess(best, scores[best] / len(sample))


def _sample(data: bytes | bytearray) -> bytes:
    """Return lines that hold bytes beyond ASCII: the rest tells the encodings not apart."""
    lines: list[bytes | bytearray] = []
    room = _SAMPLE
    for found in _HIGH.finditer(data):
        start, end = found.span()
        # Before the first byte beyond ASCII no character can be cut in two.
        first = next(at for at in range(start, end) if data[at] > 0x7F)
        lines.append(data[max(start, first - 64) : min(end, first + _MOST_OF_A_LINE)])
        room -= len(lines[-1])
        if room <= 0:
            break
    return b"".join(lines)


def _score(sample: bytes, charset: Charset) -> float:
    text = sample.decode(charset.codec, "replace")
    counted = Counter(text)
    ascii_characters = sum(counted.pop(character) for character in list(counted) if character < "\x80")
    classes = text.translate(_ASCII_CLASSES | {ord(character): _class_of(character) for character in counted})
    odd = {latin: _cost_of(classes, latin) for latin in {LANGUAGES[name].latin for name in charset.languages}}
    best = max(
        _likelihood(counted, name, capitals=capitals) + odd[LANGUAGES[name].latin]
        for name in charset.languages
        for capitals in (False, True)
    )
    return best + ascii_characters * _ASCII_CHARACTER


def _cost_of(classes: str, latin: bool) -> float:
    oddities = _ODDITIES + (_LATIN_ODDITIES if latin else _OTHER_ODDITIES)
    return sum(len(odd.pattern.findall(classes)) * odd.cost for odd in oddities)


def _class_of(character: str) -> str:
    if character in "ªº":
        return "."
    if character == "’":
        return "'"
    if character in "ךםןףץς":
        return "f"
    if "\u2500" <= character < "\u25a0":
        return "#"
    if character >= "\u2e80":
        return "c"
    if character.isalpha() or unicodedata.category(character).startswith("M"):
        return "l" if character.islower() else "u" if character.isupper() else "o"
    return "."


def _likelihood(counted: Counter[str], language: str, *, capitals: bool) -> float:
    known = _model(language, capitals)
    return sum(number * (known.get(c) or _likelihood_of_stranger(c)) for c, number in counted.items())


@cache
def _model(language: str, capitals: bool) -> dict[str, float]:
    """Return the log-likelihood of every character that the language uses."""
    letters, _, signs = LANGUAGES[language]
    model = {sign: math.log(signs * share) for sign, share in _by_rank(SIGNS)}
    low, high = (_IN_OTHER_CASE, _IN_CASE) if capitals else (_IN_CASE, _IN_OTHER_CASE)
    for letter, share in _by_rank(letters):
        upper = letter.upper()
        caseless = upper == letter or len(upper) > 1
        model[letter] = math.log((1 - signs) * share * (1 if caseless else low))
        if not caseless:
            model[upper] = math.log((1 - signs) * share * high)
    return model


def _by_rank(characters: str) -> list[tuple[str, float]]:
    weights = [1 / (rank + 4) for rank in range(len(characters))]
    return [(character, weight / sum(weights)) for character, weight in zip(characters, weights, strict=True)]


@lru_cache(maxsize=4096)
def _likelihood_of_stranger(character: str) -> float:
    if character == "\ufffd" or "\x80" <= character < "\xa0" or "\ue000" <= character < "\uf900":
        return _WRONG
    if "\u2500" <= character < "\u25a0":
        return _LINE_DRAWING
    if character >= "\u2e80":
        return _EVERYDAY if is_everyday(character) else _RARE
    return _OTHER_LETTER if character.isalpha() else _OTHER_SIGN
