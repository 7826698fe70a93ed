"""Files that come with a question: taken in, refused with a sentence, ready again after a restart (G04)."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from dataclasses import replace
from pathlib import Path

import pytest
from reportlab.pdfgen import canvas

from doc_processing_toolkit import DirectoryMediaStore
from doc_processing_toolkit.core.errors import DocumentError
from doc_processing_toolkit.documents import ExtractionProgress
from turnleaf.services.attachments import AttachmentIntake, is_attached
from turnleaf.services.notices import notice_of


def intake_at(path: Path) -> AttachmentIntake:
    return AttachmentIntake(DirectoryMediaStore(path / "media"), path / "cache")


def write_pdf(path: Path, pages: int, **options: object) -> Path:
    page = canvas.Canvas(str(path), **options)
    for number in range(1, pages + 1):
        for line in range(20):
            page.drawString(72, 750 - 20 * line, f"Page {number}, line {line}: the bridge was opened in 1932.")
        page.showPage()
    page.save()
    return path


def test_G04_a_pdf_is_read_and_its_bytes_are_in_the_store(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "bridge.pdf", 3)
    seen: list[ExtractionProgress] = []

    attachment = asyncio.run(intake_at(tmp_path).take(path, on_progress=seen.append))

    info = attachment.info
    assert (info.name, info.kind, info.pages, info.mime_type) == ("bridge.pdf", "pdf", 3, "application/pdf")
    assert info.size == path.stat().st_size
    assert info.estimated_tokens is not None
    assert info.estimated_tokens > 100
    assert attachment.document is not None
    assert attachment.document.characters == info.characters
    assert (tmp_path / "media" / f"{info.sha256}.pdf").read_bytes() == path.read_bytes()


def test_pasted_bytes_with_a_name_are_taken_in_like_a_file(tmp_path: Path) -> None:
    attachment = asyncio.run(intake_at(tmp_path).take(("notes\x00\x1b[31m\u202e.md", "Grüße".encode("latin-1"))))

    assert attachment.document is not None
    assert attachment.document.text == "Grüße"
    assert attachment.document.name == attachment.info.name
    assert not any(char in attachment.info.name for char in "\x00\x1b\u202e")
    assert len(list((tmp_path / "media").iterdir())) == 1


def refusals(folder: Path) -> dict[str, Path]:
    """One file for each way of not being attachable, by the code of its refusal."""
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "empty.txt").touch()
    (folder / "damaged.pdf").write_bytes(b"%PDF-1.7\nnot really\n%%EOF")
    (folder / "program.bin").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 40)
    (folder / "dangling.txt").symlink_to(folder / "nowhere")
    blank = canvas.Canvas(str(folder / "scan.pdf"))
    blank.rect(100, 100, 200, 200, fill=1)
    blank.showPage()
    blank.save()
    from reportlab.lib import pdfencrypt

    write_pdf(folder / "secret.pdf", 1, encrypt=pdfencrypt.StandardEncryption("pass"))
    return {
        "folder": folder / "folder",
        "pipe": folder / "pipe",
        "missing": folder / "missing.txt",
        "dangling": folder / "dangling.txt",
        "empty": folder / "empty.txt",
        "damaged": folder / "damaged.pdf",
        "encrypted": folder / "secret.pdf",
        "scanned": folder / "scan.pdf",
        "binary": folder / "program.bin",
        "device": Path("/dev/zero"),
    }


def test_what_cannot_be_attached_is_refused_with_a_sentence_and_nothing_is_stored(tmp_path: Path) -> None:
    expected = {
        "folder": "not_a_file",
        "pipe": "not_a_file",
        "device": "not_a_file",
        "missing": "not_found",
        "dangling": "not_found",
        "empty": "empty",
        "damaged": "damaged",
        "encrypted": "encrypted",
        "scanned": "no_text",
        "binary": "unsupported",
    }

    async def scenario() -> dict[str, str]:
        intake = intake_at(tmp_path)
        codes = {}
        for kind, path in refusals(tmp_path).items():
            with pytest.raises(DocumentError) as caught:
                await intake.take(path)
            codes[kind] = caught.value.code
            assert len(str(caught.value)) > 15, kind
            assert path.name in notice_of(caught.value).text
        return codes

    assert asyncio.run(scenario()) == expected
    assert not (tmp_path / "media").exists()


def test_a_socket_is_refused(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        with pytest.raises(DocumentError) as caught:
            asyncio.run(intake_at(tmp_path).take(tmp_path / "s"))
    assert caught.value.code == "not_a_file"


def test_no_bytes_pasted_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as caught:
        asyncio.run(intake_at(tmp_path).take(("nothing.txt", b"")))
    assert caught.value.code == "empty"


def test_the_same_bytes_twice_are_recognised_whatever_they_are_called(tmp_path: Path) -> None:
    async def scenario() -> None:
        intake = intake_at(tmp_path)
        one = await intake.take(("a.txt", b"the same words"))
        same = await intake.take(("b.txt", b"the same words"))
        other = await intake.take(("a.txt", b"other words"))
        assert is_attached(same.info, [one])
        assert not is_attached(other.info, [one])

    asyncio.run(scenario())
    assert len(list((tmp_path / "media").iterdir())) == 2


def test_a_file_that_changes_while_it_is_read_is_not_stored_as_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from turnleaf.services import intake as module

    path = tmp_path / "a.txt"
    path.write_text("the first words")
    extract = module.extract

    async def slow(*arguments: object, **options: object) -> object:
        document = await extract(*arguments, **options)  # type: ignore[arg-type]
        path.write_text("other words by now")
        return document

    monkeypatch.setattr(module, "extract", slow)
    with pytest.raises(DocumentError, match="changed while") as caught:
        asyncio.run(intake_at(tmp_path).take(path))
    assert caught.value.code == "unreadable"
    assert not (tmp_path / "media").exists()


@pytest.mark.parametrize("keeps_cache", [True, False])
def test_a_file_of_a_draft_is_ready_again_after_a_restart(tmp_path: Path, keeps_cache: bool) -> None:
    path = write_pdf(tmp_path / "bridge.pdf", 2)
    before = asyncio.run(intake_at(tmp_path).take(path))
    path.unlink()
    if not keeps_cache:
        for cached in (tmp_path / "cache").rglob("*.json"):
            cached.write_bytes(b"{damaged")

    after = asyncio.run(intake_at(tmp_path).reopen(before.info))

    assert after == before


def test_a_file_that_was_cut_to_fit_is_cut_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        intake = intake_at(tmp_path)
        whole = await intake.take(write_pdf(tmp_path / "long.pdf", 12))
        assert whole.document is not None
        from turnleaf.services.attachments import attachment_of

        cut = attachment_of(whole.document.head(whole.document.characters // 2))
        again = await intake.reopen(cut.info)
        assert again == cut
        assert again.document is not None
        assert again.document.characters < whole.document.characters

    asyncio.run(scenario())


def test_a_file_whose_bytes_are_gone_is_said(tmp_path: Path) -> None:
    async def scenario() -> None:
        intake = intake_at(tmp_path)
        attachment = await intake.take(("a.txt", b"words"))
        for folder in ("media", "cache"):
            for stored in (tmp_path / folder).rglob("*.*"):
                stored.unlink()
        for info in (attachment.info, replace(attachment.info, sha256="../../etc/passwd")):
            with pytest.raises(DocumentError) as caught:
                await intake.reopen(info)
            assert caught.value.code == "not_found"
            assert "attach it again" in str(caught.value)

    asyncio.run(scenario())


def test_cancelling_ends_the_reading_at_once_and_stores_nothing(tmp_path: Path) -> None:
    async def scenario() -> float:
        path = write_pdf(tmp_path / "long.pdf", 400)
        started = asyncio.Event()
        task = asyncio.create_task(intake_at(tmp_path).take(path, on_progress=lambda _: started.set()))
        await started.wait()
        begun = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - begun

    assert asyncio.run(scenario()) < 1.0
    assert not (tmp_path / "media").exists()
