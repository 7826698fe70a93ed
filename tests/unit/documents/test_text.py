"""Text files: kept as they are but for line ends and characters that no reader sees."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from doc_processing_toolkit.documents import ExtractionProgress
from unit.documents.reading import read, read_here


def test_text_file_arrives_as_it_is(tmp_path: Path) -> None:
    source = '# Title\n\n| a | b |\n|---|---|\n\n```py\nif x:\n\treturn "ü"  \n```\n'
    path = tmp_path / "notes.md"
    path.write_text(source, encoding="utf-8", newline="")
    document = read(path)
    assert document.text == source
    assert (document.kind, document.mime_type, document.name) == ("text", "text/markdown", "notes.md")
    assert (document.pages, document.sections, document.pages_without_text, document.notes) == (None, (), (), ())
    assert (document.sha256, document.size) == (hashlib.sha256(source.encode()).hexdigest(), len(source.encode()))


@pytest.mark.parametrize(
    ("name", "mime_type"),
    [("a.csv", "text/csv"), ("a.json", "application/json"), ("a.py", "text/x-python"), ("LICENSE", "text/plain")],
)
def test_name_tells_the_kinds_of_text_apart(name: str, mime_type: str) -> None:
    assert read(b"a;b\n1;2\n", name).mime_type == mime_type


@pytest.mark.parametrize("ending", ["\r\n", "\r", "\n", "\x85"])
def test_line_ends_become_newlines(ending: str) -> None:
    assert read_here(f"one{ending}two{ending}{ending}three".encode())[0] == "one\ntwo\n\nthree"


def test_line_end_across_two_pieces_stays_one() -> None:
    line = "x" * ((256 << 10) - 1) + "\r\n"
    assert read_here((line * 3).encode())[0] == line.replace("\r\n", "\n") * 3


def test_nul_and_control_characters_are_left_out_with_a_note() -> None:
    text, reading = read_here(b"a perfectly normal sentence\x00 with a bell\x07\n" * 2)
    assert text == "a perfectly normal sentence with a bell\n" * 2
    assert reading.notes == ("2 NUL characters were left out.", "2 control characters were left out.")


def test_colours_of_a_terminal_are_left_out() -> None:
    assert read_here(b"\x1b[31mred\x1b[0m and \x1b[1;32mgreen\x1b[m\n")[0] == "red and green\n"


def test_log_with_a_block_of_nul_from_a_crash_is_still_text() -> None:
    text, reading = read_here(b"line one\n" + bytes(4096) + b"line two\n")
    assert text == "line one\nline two\n"
    assert reading.notes == ("4,096 NUL characters were left out.",)


@pytest.mark.parametrize(
    "start", [b"BM is short for", b"MZ is a format", b"ID3 tags are", b"OTTO went", b"GGUF is", b"PK"]
)
def test_text_that_begins_like_a_binary_file_is_text(start: bytes) -> None:
    assert read_here(start + b" an explanation of it.\n")[0].startswith(start.decode())


def test_very_long_line_is_kept_whole() -> None:
    line = "word " * 400_000
    document = read(line.encode(), "a.txt")
    assert document.text == line


def test_text_beyond_the_character_limit_is_cut_between_words_and_says_so() -> None:
    source = "Every word counts. " * 1000
    document = read(source.encode(), "a.txt", characters=1000)
    assert source.startswith(document.text)
    assert 900 < document.characters <= 1000
    assert document.text[-1] in ".s"
    assert document.notes == (
        f"Only the first {document.characters} characters are included. No more than 1,000 are read.",
    )


def test_text_beyond_the_size_limit_is_partial_but_its_digest_is_of_the_whole() -> None:
    data = b"0123456789\n" * 1000
    document = read(data, "a.txt", source_bytes=5000)
    assert data.startswith(document.text.encode())
    assert (document.size, document.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    assert "No more than 4.88 KiB of a file are read." in document.notes[0]


def test_progress_counts_bytes_and_ends_at_all_of_them() -> None:
    seen: list[ExtractionProgress] = []
    data = b"some text\n" * 1_000_000
    read(data, "a.txt", on_progress=seen.append)
    assert seen[-1] == ExtractionProgress(len(data), len(data), "bytes")
    assert [p.done for p in seen] == sorted(p.done for p in seen)


def test_large_text_arrives_whole_and_in_order() -> None:
    source = "".join(f"line {n}: Größe 東京 😀 “quoted” \\ back\n" for n in range(60_000))
    assert read(source.encode(), "a.txt").text == source


@pytest.mark.skipif(not Path("/proc/cpuinfo").exists(), reason="needs /proc")
def test_file_that_claims_to_be_empty_but_is_not_is_read() -> None:
    assert "processor" in read(Path("/proc/cpuinfo")).text
