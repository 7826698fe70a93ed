"""Every reason for which a document is refused, and what is said then."""

from __future__ import annotations

import errno
import os
import socket
import struct
import zipfile
import zlib
from io import BytesIO
from pathlib import Path

import pytest

from doc_processing_toolkit.core.errors import DocumentError
from doc_processing_toolkit.documents import source as source_module
from doc_processing_toolkit.documents.protocol import Request, path_to_text
from doc_processing_toolkit.documents.source import open_source
from unit.documents.pdf_making import SCAN, pdf_of
from unit.documents.reading import read, refused

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00\x00\x00\rIHDR" + bytes(30)


def zip_of(*names: str) -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, "<xml/>")
    return file.getvalue()


def on_disk(tmp_path: Path, data: bytes, name: str) -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


def test_missing_file_is_not_found(tmp_path: Path) -> None:
    error = refused(tmp_path / "report.pdf")
    assert (error.code, error.name) == ("not_found", "report.pdf")
    assert "report.pdf" in str(error)


@pytest.mark.parametrize("name", ["x" * 10_000, "a\x00b.pdf", "file.txt/inner.txt"])
def test_name_that_no_file_can_have_is_not_found(tmp_path: Path, name: str) -> None:
    (tmp_path / "file.txt").write_text("text")
    assert refused(Path(f"{tmp_path}/{name}")).code == "not_found"


def test_folder_is_no_file(tmp_path: Path) -> None:
    error = refused(tmp_path)
    assert error.code == "not_a_file"
    assert "folder" in str(error)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are of POSIX")
def test_named_pipe_is_no_file_and_is_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.pdf")
    error = refused(tmp_path / "pipe.pdf", seconds=20)
    assert error.code == "not_a_file"
    assert "pipe" in str(error)


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="needs sockets in the file system")
def test_socket_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("chat.sock")
        assert refused(Path("chat.sock")).code == "not_a_file"


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs /dev/zero")
def test_device_is_no_file() -> None:
    assert refused(Path("/dev/zero")).code == "not_a_file"


def test_file_that_became_a_pipe_after_the_first_look_is_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fifo = tmp_path / "swapped.txt"
    os.mkfifo(fifo)
    ordinary = on_disk(tmp_path, b"text", "ordinary.txt")
    # The first look sees an ordinary file; what is opened then is the pipe.
    real_stat = os.stat
    monkeypatch.setattr(source_module.os, "stat", lambda path, **kw: real_stat(ordinary))
    with pytest.raises(DocumentError) as caught:
        open_source(request_for(fifo), BytesIO(), lambda: None)
    assert caught.value.code == "not_a_file"


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.ESTALE])
def test_failing_disk_is_unreadable_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    path = on_disk(tmp_path, b"text", "notes.txt")

    def fail(fd: int, octets: int) -> bytes:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(source_module.os, "read", fail)
    with pytest.raises(DocumentError) as caught:
        open_source(request_for(path), BytesIO(), lambda: None).peek(10)
    assert caught.value.code == "unreadable"
    assert os.strerror(number) in str(caught.value)


@pytest.mark.parametrize("name", ["empty.pdf", "empty.txt", "empty"])
def test_file_without_bytes_is_empty(name: str) -> None:
    assert refused(b"", name).code == "empty"


@pytest.mark.parametrize("data", [b" \n\t\r\n", b"\xef\xbb\xbf", "\ufeff  ".encode("utf-16-le")])
def test_file_of_blank_space_is_empty(data: bytes) -> None:
    assert refused(data, "blank.txt").code == "empty"


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (PNG, "PNG image"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + bytes(40), "JPEG image"),
        (b"\x7fELF\x02\x01\x01" + bytes(60), "program"),
        (b"MZ\x90\x00\x03\x00" + bytes(80), "Windows program"),
        (zip_of("[Content_Types].xml", "word/document.xml"), "DOCX"),
        (zip_of("[Content_Types].xml", "xl/workbook.xml"), "XLSX"),
        (zip_of("[Content_Types].xml", "ppt/presentation.xml"), "PPTX"),
        (zip_of("a.txt", "b.txt"), "ZIP archive"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), "Office"),
        (b"\x1f\x8b\x08\x00" + zlib.compress(b"x" * 100), "gzip"),
        (b"SQLite format 3\x00" + bytes(100), "SQLite"),
        (b"GGUF\x03\x00\x00\x00" + bytes(100), "language model"),
        (b"OggS\x00\x02" + bytes(100), "Ogg"),
        (b"ID3\x04\x00\x00" + bytes(100), "MP3"),
        (b"\x00\x00\x00\x20ftypisom" + bytes(100), "video"),
        (b"RIFF\x24\x00\x00\x00WAVEfmt " + bytes(100), "WAV"),
        (rb"{\rtf1\ansi Hello}", "RTF"),
        (struct.pack("<200d", *(1.1**n for n in range(200))), "binary data"),
        (bytes(5000), "binary data"),
    ],
)
def test_binary_file_is_unsupported_and_said_to_be_what_it_seems(data: bytes, what: str) -> None:
    for name in ("file.bin", "file.txt", "file"):
        error = refused(data, name)
        assert error.code == "unsupported"
        assert what in str(error)


@pytest.mark.parametrize("name", ["report.pdf", "REPORT.PDF"])
@pytest.mark.parametrize(
    "data",
    [
        b"<!DOCTYPE html><html><body>Please log in</body></html>",
        b"this is not a pdf",
        bytes(range(256)) * 8,
        bytes(3000),
    ],
)
def test_something_else_under_the_name_of_a_pdf_is_damaged(name: str, data: bytes) -> None:
    assert refused(data, name).code == "damaged"


def test_web_page_under_the_name_of_a_pdf_is_said_to_be_one() -> None:
    assert "a web page" in str(refused(b"<html><head><title>Sign in</title></head></html>", "invoice.pdf"))


@pytest.mark.parametrize(
    "data",
    [
        b"%PDF-1.7\n",
        b"%PDF-1.4\n" + bytes(range(256)) * 20,
        pdf_of("some text")[:300],
        pdf_of("some text").replace(b"/Kids", b"/Dogs").replace(b"/Pages", b"/Wages"),
    ],
)
def test_broken_pdf_is_damaged(data: bytes) -> None:
    error = refused(data, "broken.pdf")
    assert error.code == "damaged"
    assert "broken.pdf" in str(error)


def test_pdf_with_a_password_is_encrypted() -> None:
    error = refused(pdf_of("secret text", user_password="hunter2"), "secret.pdf")
    assert error.code == "encrypted"
    assert "password" in str(error)


def test_scanned_pdf_has_no_text() -> None:
    error = refused(pdf_of(SCAN, SCAN), "scan.pdf")
    assert error.code == "no_text"
    assert "2 pages are probably scans" in str(error)


def test_pdf_of_empty_pages_has_no_text() -> None:
    error = refused(pdf_of("", ""), "blank.pdf")
    assert error.code == "no_text"
    assert "empty" in str(error)


def test_pdf_above_the_limit_is_too_large_whether_path_or_bytes(tmp_path: Path) -> None:
    data = pdf_of("text")
    for source in (data, on_disk(tmp_path, data, "big.pdf")):
        error = refused(source, "big.pdf", source_bytes=len(data) - 1)
        assert error.code == "too_large"
        assert "KiB" in str(error)


def test_misleading_name_is_shown_cleaned_in_the_message(tmp_path: Path) -> None:
    error = refused(b"", "evil\u202efdp.exe\nSecond line\x07")
    assert error.name == "evilfdp.exe Second line"
    assert error.name in str(error)
    assert "\n" not in str(error)


def test_name_that_is_no_text_can_be_read_and_is_shown(tmp_path: Path) -> None:
    path = os.path.join(os.fsencode(tmp_path), b"caf\xe9.txt")
    try:
        with open(path, "wb") as file:
            file.write(b"coffee")
    except OSError:
        pytest.skip("this file system wants names to be text")
    document = read(Path(os.fsdecode(path)))
    assert (document.text, document.name) == ("coffee", "caf\ufffd.txt")


def request_for(path: Path) -> Request:
    return Request(
        name=path.name,
        file_name=path.name,
        path=path_to_text(str(path)),
        octets=0,
        seconds=5,
        memory_bytes=1 << 30,
        source_bytes=1 << 20,
        pages=10,
        characters=1000,
    )
