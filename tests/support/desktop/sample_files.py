"""Files to drop on the window: documents with a known fact, and everything that is not a readable document."""

from __future__ import annotations

import contextlib
import io
import os
import socket
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from PIL import Image, ImageDraw
from reportlab.lib.pagesizes import A4
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

LIGHTHOUSE = (
    "The lighthouse of Cape Orla was painted green in 1911 by Ingrid Falk.",
    "It is 34 metres high and its lamp can be seen from 20 miles away.",
)


def write_pdf(path: Path, *pages: Sequence[str], password: str | None = None) -> Path:
    """Write a PDF with one page of text per argument; with a password it can only be read by who knows it."""
    canvas = Canvas(str(path), pagesize=A4, encrypt=password, invariant=True)
    for lines in pages:
        text = canvas.beginText(72, 760)
        for line in lines:
            text.textLine(line)
        canvas.drawText(text)
        canvas.showPage()
    canvas.save()
    return path


def write_scanned_pdf(path: Path) -> Path:
    """Write a PDF whose only page is a picture of text, as a scanner makes it."""
    picture = Image.new("L", (600, 200), 255)
    ImageDraw.Draw(picture).text((20, 80), LIGHTHOUSE[0], fill=0)
    data = io.BytesIO()
    picture.save(data, "PNG")
    data.seek(0)
    canvas = Canvas(str(path), pagesize=A4, invariant=True)
    canvas.drawImage(ImageReader(data), 72, 500, 450, 150)
    canvas.save()
    return path


def write_damaged_pdf(path: Path) -> Path:
    """Write a PDF that was cut off in the middle of its download."""
    whole = write_pdf(path, *([LIGHTHOUSE] * 3)).read_bytes()
    path.write_bytes(whole[:200])
    return path


def bind_socket(path: Path) -> Path:
    """Leave a socket in the file system, as a server does."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
    return path


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """Mount a file system of that size (as `mount` writes it) on a new folder; skips where that is not allowed."""
    folder.mkdir(parents=True)
    mounting = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounting.returncode:
        pytest.skip(f"needs the right to mount a small file system: {mounting.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill_disk(folder: Path, *, leave: int = 0) -> Path:
    """Use up all space of the file system but about `leave` bytes with one file; delete it to have the space back."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(65536)):
            continue
    if leave:
        os.truncate(ballast, max(0, ballast.stat().st_size - leave))
    return ballast
