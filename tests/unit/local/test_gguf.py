"""What a ``.gguf`` file says of itself is read with strict bounds, whatever it holds."""

from __future__ import annotations

import contextlib
import os
import struct
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doc_processing_toolkit import ProviderError
from doc_processing_toolkit.providers.local import GgufInfo, describe_gguf
from unit.local.gguf_files import (
    ARRAY,
    BOOL,
    STRING,
    UINT32,
    UINT64,
    array,
    entry,
    header,
    model_file,
    plain_model,
    text,
)


def test_a_model_file_tells_name_architecture_window_and_template(tmp_path: Path) -> None:
    path = model_file(tmp_path, context=2048, name="Tiny Chat")
    assert describe_gguf(path) == GgufInfo("Tiny Chat", "llama", 2048, True, path.stat().st_size)


@pytest.mark.parametrize("template", [None, "", "  \n"])
def test_a_file_without_a_template_says_so(tmp_path: Path, template: str | None) -> None:
    assert not describe_gguf(model_file(tmp_path, template=template)).has_chat_template


def test_a_file_that_says_nothing_is_named_after_itself(tmp_path: Path) -> None:
    path = tmp_path / "my model.gguf"
    path.write_bytes(header())
    assert describe_gguf(path) == GgufInfo("my model", "", None, False, path.stat().st_size)


def test_facts_of_the_wrong_kind_count_as_not_stated(tmp_path: Path) -> None:
    path = tmp_path / "odd.gguf"
    path.write_bytes(
        header(
            entry("general.architecture", STRING, text("llama")),
            entry("llama.context_length", BOOL, b"\x01"),
            entry("general.name", UINT32, struct.pack("<I", 7)),
            entry("tokenizer.chat_template", ARRAY, array(STRING, 1, text("x"))),
        )
    )
    info = describe_gguf(path)
    assert (info.name, info.context_length, info.has_chat_template) == ("odd", None, False)


def test_a_version_2_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "old.gguf"
    path.write_bytes(header(entry("general.name", STRING, text("Old")), version=2))
    assert describe_gguf(path).name == "Old"


BROKEN = {
    "empty": b"",
    "text": b"hello, this is no model\n" * 10,
    "html": b"<!DOCTYPE html><html>404</html>",
    "magic only": b"GGUF",
    "future version": header(version=99),
    "big endian": b"GGUF" + struct.pack(">IQQ", 3, 0, 0),
    "version 1": header(version=1),
    "too many entries": header(count=2**63),
    "entries missing": header(count=5),
    "endless key": header(struct.pack("<Q", 2**64 - 1), count=1),
    "endless text": header(text("k") + struct.pack("<IQ", STRING, 2**62), count=1),
    "long text": header(text("k") + struct.pack("<IQ", STRING, 5 * 1024 * 1024) + b"x" * 5_300_000, count=1),
    "endless numbers": header(entry("k", ARRAY, array(UINT64, 2**61, b""))),
    "endless texts": header(entry("k", ARRAY, array(STRING, 2**62, b""))),
    "many empty texts": header(entry("k", ARRAY, array(STRING, 10_000_000, b"\0" * 1000))),
    "unknown kind": header(entry("k", 77, b"")),
    "list of unknown kind": header(entry("k", ARRAY, array(77, 1, b""))),
    "nested lists": header(entry("k", ARRAY, array(ARRAY, 1, b"") * 3000)),
    "list of endless lists": header(entry("k", ARRAY, array(ARRAY, 2**40, array(UINT32, 0, b"") * 1000))),
    "cut in a number": plain_model()[:-3],
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_refused_by_name_quickly_and_in_little_memory(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(content)
    tracemalloc.start()
    started = time.monotonic()
    with pytest.raises(ProviderError, match=r"broken\.gguf.*(Download it again|choose another)") as caught:
        describe_gguf(path)
    assert time.monotonic() - started < 5
    assert tracemalloc.get_traced_memory()[1] < 8 * 1024 * 1024
    tracemalloc.stop()
    assert (caught.value.provider, caught.value.code) == ("local", "bad_model_file")


def test_many_long_texts_do_not_pile_up_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "heavy.gguf"
    one = text("x" * (3 * 1024 * 1024))
    path.write_bytes(header(*(entry(f"{number}.context_length", STRING, one) for number in range(40))))
    tracemalloc.start()
    describe_gguf(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 24 * 1024 * 1024


def test_a_later_part_of_a_split_model_points_to_the_first(tmp_path: Path) -> None:
    path = tmp_path / "big-00002-of-00003.gguf"
    path.write_bytes(header(entry("split.no", UINT32, struct.pack("<I", 1))))
    with pytest.raises(ProviderError, match=r"part 2 .* Choose the first part"):
        describe_gguf(path)


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe", "nul"])
def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "thing.gguf"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "nul":
        path = tmp_path / "a\0b.gguf"
    with pytest.raises(ProviderError, match="The model file"):
        describe_gguf(path)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(0, 400), at=st.integers(0, 399), value=st.integers(0, 255), tail=st.binary(max_size=64))
def test_a_damaged_header_is_read_or_refused_but_never_crashes(
    tmp_path: Path, cut: int, at: int, value: int, tail: bytes
) -> None:
    content = bytearray(plain_model())
    content[at % len(content)] = value
    path = tmp_path / "fuzzed.gguf"
    path.write_bytes(bytes(content[:cut]) + tail)
    with contextlib.suppress(ProviderError):
        assert isinstance(describe_gguf(path), GgufInfo)
