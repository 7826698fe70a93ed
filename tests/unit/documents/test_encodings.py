"""Text in any encoding is found, and what was guessed is said to be guessed."""

from __future__ import annotations

import codecs
import random
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doc_processing_toolkit.documents import identify
from doc_processing_toolkit.documents.encoding import detect_encoding
from unit.documents.reading import read, read_here
from unit.documents.sentences_of_the_world import LEGACY_CASES, SENTENCES, UNICODE_ENCODINGS

MARKS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}
# Control characters are left out of a text, on purpose; so is a byte order mark at its beginning.
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff"), min_size=1).filter(
    lambda text: bool(text.strip())
)


@pytest.mark.parametrize(("language", "codec"), LEGACY_CASES)
def test_older_encodings_are_guessed_by_the_language(language: str, codec: str) -> None:
    sentence, _ = SENTENCES[language]
    data = sentence.encode(codec, "ignore")
    text, reading = read_here(data)
    assert text == data.decode(codec)
    assert reading.encoding_guessed


@pytest.mark.parametrize("language", SENTENCES)
@pytest.mark.parametrize("encoding", UNICODE_ENCODINGS)
def test_unicode_encodings_are_found_with_and_without_a_byte_order_mark(language: str, encoding: str) -> None:
    sentence, _ = SENTENCES[language]
    text, reading = read_here(f"{sentence}\n{sentence}\n".encode(encoding))
    assert text == f"{sentence}\n{sentence}\n"
    assert reading.encoding_guessed == encoding.endswith(("-le", "-be"))


@settings(deadline=None)
@given(text=ANY_TEXT)
@pytest.mark.parametrize("encoding", MARKS)
def test_any_text_with_a_byte_order_mark_is_found(encoding: str, text: str) -> None:
    found, reading = read_here(MARKS[encoding] + text.encode(encoding))
    assert found == text
    assert not reading.encoding_guessed


@settings(deadline=None)
@given(text=ANY_TEXT)
def test_any_text_in_utf8_is_found(text: str) -> None:
    data = text.encode()
    if identify(data, "a.txt").name != "text":
        return
    encoding = detect_encoding(data)
    assert encoding is not None
    # Seven-bit encodings write their text in ASCII: a sequence of theirs is theirs.
    if encoding.codec.startswith(("hz", "iso2022")):
        return
    assert read_here(data)[0] == text


@settings(deadline=None)
@given(
    text=st.text(st.characters(categories=["L", "Nd", "Po"], max_codepoint=0x2FFF), min_size=8).map(
        lambda words: f"{words} and {words}.\n"
    ),
    encoding=st.sampled_from(["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]),
)
def test_any_lines_in_wide_unicode_without_a_mark_are_found(text: str, encoding: str) -> None:
    found, reading = read_here(text.encode(encoding))
    assert found == text
    assert reading.encoding_guessed


@settings(deadline=None)
@given(data=st.binary(max_size=300))
def test_any_bytes_end_in_text_without_surrogates_or_in_no_text(data: bytes) -> None:
    encoding = detect_encoding(data)
    if encoding is None or not data:
        return
    text = data[encoding.skip :].decode(encoding.codec, "replace")
    assert not any(unicodedata.category(character) == "Cs" for character in text)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"caf\xe9", "café"),
        ("Zürich".encode("latin-1"), "Zürich"),
        ("¡Hola, señor Pérez!".encode("latin-1"), "¡Hola, señor Pérez!"),
        ("it’s “quoted” – really…".encode("cp1252"), "it’s “quoted” – really…"),
        ("Привет, мир!".encode("koi8_r"), "Привет, мир!"),
        ("# комментарий\nx = 1  # значение\n".encode("cp1251"), "# комментарий\nx = 1  # значение\n"),
        ("名前,住所\n山田太郎,東京都港区\n".encode("shift_jis"), "名前,住所\n山田太郎,東京都港区\n"),
        ("姓名,地址\n张三,北京市\n".encode("gb18030"), "姓名,地址\n张三,北京市\n"),
        ("𠮷㐀 你好，这是四字节测试".encode("gb18030"), "𠮷㐀 你好，这是四字节测试"),
        ("안녕하세요".encode("euc_kr"), "안녕하세요"),
        ("La città è già bella.".encode("cp1252"), "La città è già bella."),
        (b"MZ is a caf\xe9", "MZ is a café"),
    ],
)
def test_short_texts_are_guessed_too(data: bytes, text: str) -> None:
    assert read_here(data)[0] == text


def test_plain_ascii_is_utf8_and_not_guessed() -> None:
    document = read(b"plain", "a.txt")
    assert (document.encoding, document.encoding_guessed) == ("utf-8", False)


def test_guess_is_said_to_be_one_and_named() -> None:
    document = read("Zażółć gęślą jaźń, mówią wszyscy ludzie".encode("cp1250"), "a.txt")
    assert (document.encoding, document.encoding_guessed) == ("cp1250", True)


def test_few_letters_at_the_end_of_a_long_ascii_text_decide() -> None:
    ascii_part = "Nothing unusual here.\n" * 50_000
    data = ascii_part.encode() + "Die Größe der Straße überrascht.\n".encode("latin-1")
    assert read_here(data, characters=5_000_000)[0].endswith("Die Größe der Straße überrascht.\n")


def test_utf8_with_a_few_broken_bytes_stays_utf8_and_says_so() -> None:
    data = "naïve café – déjà vu\n".encode() * 20 + b"\xff\xfe broken\n"
    text, reading = read_here(data)
    assert text.startswith("naïve café – déjà vu\n")
    assert (reading.encoding, reading.encoding_guessed) == ("utf-8", True)
    assert reading.notes == ("2 places could not be decoded as utf-8 and are marked “\ufffd”.",)


def test_text_cut_inside_a_character_by_a_limit_is_not_called_broken() -> None:
    document = read("é".encode() * 200_000, "a.txt", source_bytes=200_001)
    assert document.text == "é" * 100_000
    assert document.encoding == "utf-8"
    assert document.notes == (
        "Only the first 100,000 characters are included. No more than 195 KiB of a file are read.",
    )


def test_character_cut_off_at_the_end_of_the_file_is_marked() -> None:
    text, reading = read_here(codecs.BOM_UTF16_LE + "abc".encode("utf-16-le") + b"d")
    assert text == "abc\ufffd"
    assert "1 place could not be decoded as utf-16-le and is marked “\ufffd”." in reading.notes


@pytest.mark.parametrize("size", [64, 500, 20_000])
def test_random_bytes_are_no_text(size: int) -> None:
    generator = random.Random(size)
    assert all(detect_encoding(generator.randbytes(size)) is None for _ in range(20))


@pytest.mark.parametrize("codec", ["cp037", "cp500"])
def test_mainframe_encodings_are_found_as_well(codec: str) -> None:
    sentences = "The committee met on Tuesday.\nIt agreed that the new contract costs 250 pounds.\n"
    assert read_here(sentences.encode(codec))[0] == sentences
    with_its_own_line_ends = sentences.replace("\n", "\x85").encode(codec)
    assert read_here(with_its_own_line_ends)[0] == sentences


@pytest.mark.parametrize(
    ("language", "codec"),
    [
        ("Japanese", "cp932"),
        ("Japanese", "euc_jp"),
        ("Simplified Chinese", "gb18030"),
        ("Traditional Chinese", "big5"),
        ("Korean", "cp949"),
        ("Russian", "koi8_r"),
    ],
)
def test_one_broken_byte_spoils_no_more_than_its_place(language: str, codec: str) -> None:
    line = SENTENCES[language][0] + "\n"
    data = line.encode(codec)
    text, reading = read_here(data * 8 + data[:20] + b"\xff" + data[20:] + data * 8)
    assert text.startswith(line * 8)
    assert text.endswith(line * 7)
    assert reading.encoding_guessed


def test_text_that_ends_inside_a_character_keeps_the_rest() -> None:
    line = SENTENCES["Japanese"][0]
    text, _ = read_here(line.encode("shift_jis")[:-1])
    assert text == line[:-1] + "\ufffd"


def test_quotes_far_behind_the_letters_that_were_looked_at_are_kept() -> None:
    german = SENTENCES["German"][0] + "\n"
    text = german * 500 + "Er sagte: „Schöne Grüße“ – und ging.\n"
    assert read_here(text.encode("cp1252"))[0] == text


def test_language_of_a_part_is_checked_against_the_whole() -> None:
    thai, german = (f"{SENTENCES[language][0]}\n" for language in ("Thai", "German"))
    # Some letters of the rest are no characters of the part's encoding.
    text, reading = read_here(thai.encode("cp874") * 150 + german.encode("cp1252") * 40_000, characters=10_000_000)
    assert reading.encoding != "cp874"
    assert "\ufffd" not in text


@pytest.mark.parametrize(
    ("declaration", "codec", "word"),
    [
        ('<?xml version="1.0" encoding="iso-8859-2"?>\n<a>%s</a>', "iso8859_2", "żź"),
        ("<meta charset=koi8-r>\n%s", "koi8_r", "да"),
        ("# -*- coding: cp1251 -*-\n# %s", "cp1251", "да"),
    ],
)
def test_encoding_that_a_text_declares_decides_where_little_else_tells(declaration: str, codec: str, word: str) -> None:
    text = declaration % word
    found, reading = read_here(text.encode(codec))
    assert found == text
    assert reading.encoding_guessed


def test_text_with_colours_in_an_older_encoding_is_found() -> None:
    data = "\x1b[1mcafé\x1b[0m \x1b[32mcrème brûlée\x1b[0m\n".encode("cp1252") * 5
    assert read_here(data)[0] == "café crème brûlée\n" * 5


def test_names_that_end_with_nul_are_no_wide_characters() -> None:
    names = [f"name{number}.txt" for number in range(50)]
    text, reading = read_here("\0".join(f"a longer {name}" for name in names).encode())
    assert text == "".join(f"a longer {name}" for name in names)
    assert (reading.encoding, reading.encoding_guessed) == ("utf-8", False)
