"""What a file is, by its first bytes; a name or a declared type decides only where the bytes say nothing."""

from __future__ import annotations

HEAD_BYTES = 64

_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"%PDF-", "application/pdf"),
    (b"ID3", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"\x1aE\xdf\xa3", "video/webm"),
)
_RIFF_KINDS = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}
_FTYP_IMAGES = {b"avif": "image/avif", b"heic": "image/heic", b"mif1": "image/heif"}
_BITMAP_HEADER_SIZES = (12, 40, 52, 56, 64, 108, 124)


def sniff(head: bytes) -> str | None:
    """Return the media type that the first ``HEAD_BYTES`` bytes show, ``None`` when they show none."""
    if head[:4] == b"RIFF":
        return _RIFF_KINDS.get(head[8:12])
    if head[4:8] == b"ftyp":
        return _FTYP_IMAGES.get(head[8:12], "video/mp4")
    if head[:2] == b"BM" and int.from_bytes(head[14:18], "little") not in _BITMAP_HEADER_SIZES:
        # A text may begin with BM as well.
        return None
    return next((kind for signature, kind in _SIGNATURES if head.startswith(signature)), None)


def is_playable_or_visible(mime_type: str | None) -> bool:
    """Whether the type is an image, audio or video: a model must take it as such, since it has no text."""
    return (mime_type or "").partition("/")[0] in ("image", "audio", "video")


def human_size(size: int) -> str:
    """Return a size in bytes as the documents write it: ``136 B``, ``1.4 kB``, ``2.0 MB``."""
    if size < 1000:
        return f"{size} B"
    for unit in ("kB", "MB", "GB"):
        size_in_unit = size / 1000 ** (("kB", "MB", "GB").index(unit) + 1)
        if size_in_unit < 1000 or unit == "GB":
            return f"{size_in_unit:.1f} {unit}"
    raise AssertionError("unreachable")
