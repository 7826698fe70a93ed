"""What media bytes are: decoding base64 of either alphabet, the type by magic number, image sizes, PDF pages."""

from __future__ import annotations

import base64
import binascii
import re

_MAGIC: tuple[tuple[bytes, int, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"GIF87a", 0, "image/gif"),
    (b"GIF89a", 0, "image/gif"),
    (b"WEBP", 8, "image/webp"),
    (b"%PDF", 0, "application/pdf"),
    (b"WAVE", 8, "audio/wav"),
    (b"BM", 0, "image/bmp"),
)
_DATA_URL = re.compile(r"data:(?P<mime>[^;,]*)(?:;[^,;]*)*;base64,", re.IGNORECASE)
_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_COUNT = re.compile(rb"/Count\s+(\d{1,7})")


def decode_base64(text: str) -> bytes | None:
    """Return the bytes of standard or url-safe base64, padded or not, `None` where it is neither."""
    plain = text.strip().replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def decode_head(text: str) -> bytes | None:
    """Return the first bytes of a base64 text (enough for a magic number and an image header)."""
    return decode_base64(text[:4096] if len(text) > 4096 else text)


def split_data_url(url: str) -> tuple[str, str] | None:
    """Return `(mime type, base64)` of a base64 data URL, `None` where `url` is none."""
    match = _DATA_URL.match(url)
    return (match["mime"].lower(), url[match.end() :]) if match else None


def sniff(data: bytes) -> str | None:
    """Return the MIME type that the first bytes announce, `None` where they announce none that is known here."""
    for magic, offset, mime in _MAGIC:
        if data[offset : offset + len(magic)] == magic:
            return mime
    return None


def image_size(data: bytes) -> tuple[int, int] | None:
    """Return `(width, height)` in pixels of a PNG, GIF or JPEG header, `None` where the bytes do not tell."""
    if sniff(data) == "image/png" and len(data) >= 24:
        return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    if sniff(data) == "image/gif" and len(data) >= 10:
        return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
    return _jpeg_size(data) if sniff(data) == "image/jpeg" else None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        # Start-of-frame markers carry the size; 0xC4, 0xC8 and 0xCC share their range and do not.
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(data[at + 7 : at + 9], "big"), int.from_bytes(data[at + 5 : at + 7], "big")
        at += 2 + length
    return None


def pdf_pages(data: bytes) -> int:
    """Return how many pages a PDF's plain objects declare; 0 where all of them are compressed."""
    counts = [int(match) for match in _COUNT.findall(data)]
    return max(len(_PAGE.findall(data)), *counts) if counts else len(_PAGE.findall(data))
