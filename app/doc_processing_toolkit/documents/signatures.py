"""The first bytes by which files that are neither PDF nor text give themselves away, and what people call them."""

from __future__ import annotations

from typing import NamedTuple


class Signature(NamedTuple):
    """``magic`` at ``offset`` means ``label`` ("a PNG image") of the media type ``mime_type``.

    A ``weak`` one may open a text as well and counts only where the rest does not look like text.
    """

    magic: bytes
    label: str
    mime_type: str
    offset: int = 0
    weak: bool = False


_OFFICE = "application/vnd.openxmlformats-officedocument"
_OPEN = "application/vnd.oasis.opendocument"

SIGNATURES = (
    Signature(b"\x89PNG\r\n\x1a\n", "a PNG image", "image/png"),
    Signature(b"\xff\xd8\xff", "a JPEG image", "image/jpeg"),
    Signature(b"GIF87a", "a GIF image", "image/gif"),
    Signature(b"GIF89a", "a GIF image", "image/gif"),
    Signature(b"II*\x00", "a TIFF image", "image/tiff"),
    Signature(b"MM\x00*", "a TIFF image", "image/tiff"),
    Signature(b"8BPS\x00", "a Photoshop image", "image/vnd.adobe.photoshop"),
    Signature(b"AT&TFORM", "a DjVu document", "image/vnd.djvu", weak=True),
    Signature(b"\x00\x00\x01\x00", "an icon", "image/vnd.microsoft.icon", weak=True),
    Signature(b"\xff\x0a", "a JPEG XL image", "image/jxl", weak=True),
    Signature(b"\x00\x00\x00\x0cJXL ", "a JPEG XL image", "image/jxl"),
    Signature(b"\x00\x00\x00\x0cjP  ", "a JPEG 2000 image", "image/jp2"),
    Signature(b"ID3", "an MP3 recording", "audio/mpeg", weak=True),
    Signature(b"\xff\xfb", "an MP3 recording", "audio/mpeg"),
    Signature(b"OggS", "an Ogg recording", "audio/ogg", weak=True),
    Signature(b"fLaC", "a FLAC recording", "audio/flac", weak=True),
    Signature(b"\x1aE\xdf\xa3", "a Matroska or WebM video", "video/webm"),
    Signature(b"\x00\x00\x01\xba", "an MPEG video", "video/mpeg"),
    Signature(b"\x7fELF", "a program (ELF)", "application/x-executable"),
    Signature(b"\xcf\xfa\xed\xfe", "a program (Mach-O)", "application/x-mach-binary"),
    Signature(b"\xce\xfa\xed\xfe", "a program (Mach-O)", "application/x-mach-binary"),
    Signature(b"\xca\xfe\xba\xbe", "a compiled program", "application/octet-stream"),
    Signature(b"\x00asm", "a WebAssembly program", "application/wasm"),
    Signature(b"\x1f\x8b", "a gzip archive", "application/gzip"),
    Signature(b"BZh", "a bzip2 archive", "application/x-bzip2", weak=True),
    Signature(b"\xfd7zXZ\x00", "an xz archive", "application/x-xz"),
    Signature(b"\x28\xb5\x2f\xfd", "a Zstandard archive", "application/zstd"),
    Signature(b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "application/x-7z-compressed"),
    Signature(b"Rar!\x1a\x07", "a RAR archive", "application/vnd.rar"),
    Signature(b"ustar", "a tar archive", "application/x-tar", 257, weak=True),
    Signature(b"CD001", "a disc image", "application/x-iso9660-image", 32769, weak=True),
    Signature(b"SQLite format 3\x00", "an SQLite database", "application/vnd.sqlite3"),
    Signature(b"PAR1", "a Parquet table", "application/vnd.apache.parquet", weak=True),
    Signature(b"\x89HDF\r\n\x1a\n", "an HDF5 file", "application/x-hdf5"),
    Signature(b"GGUF", "the weights of a language model (GGUF)", "application/octet-stream", weak=True),
    Signature(b"{\\rtf", "a rich text (RTF) document", "application/rtf"),
    Signature(b"bplist00", "a binary property list", "application/x-bplist", weak=True),
    Signature(b"wOFF", "a font", "font/woff", weak=True),
    Signature(b"wOF2", "a font", "font/woff2", weak=True),
    Signature(b"OTTO", "a font", "font/otf", weak=True),
    Signature(b"\x00\x01\x00\x00\x00", "a font", "font/ttf", weak=True),
    Signature(b"ITOLITLS", "an e-book (LIT)", "application/x-ms-reader", weak=True),
    Signature(b"BOOKMOBI", "a Kindle e-book", "application/x-mobipocket-ebook", 60, weak=True),
    Signature(b"L\x00\x00\x00\x01\x14\x02\x00", "a Windows shortcut", "application/x-ms-shortcut"),
)

_BITMAP_HEADER_SIZES = (12, 40, 52, 56, 64, 108, 124)
_RIFF = {
    b"WEBP": ("a WebP image", "image/webp"),
    b"WAVE": ("a WAV recording", "audio/wav"),
    b"AVI ": ("an AVI video", "video/x-msvideo"),
}
_FTYP_IMAGES = {b"avif": "image/avif", b"heic": "image/heic", b"heix": "image/heic", b"mif1": "image/heif"}
# The first names inside a ZIP archive; the order decides.
_ZIP = (
    (b"mimetypeapplication/epub+zip", "an EPUB e-book", "application/epub+zip"),
    (b"mimetypeapplication/vnd.oasis.opendocument.text", "an OpenDocument text (ODT)", f"{_OPEN}.text"),
    (b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet", "an OpenDocument table (ODS)", f"{_OPEN}.spreadsheet"),
    (b"mimetypeapplication/vnd.oasis.opendocument", "an OpenDocument file", f"{_OPEN}.presentation"),
    (b"word/", "a Word document (DOCX)", f"{_OFFICE}.wordprocessingml.document"),
    (b"xl/", "an Excel workbook (XLSX)", f"{_OFFICE}.spreadsheetml.sheet"),
    (b"ppt/", "a PowerPoint presentation (PPTX)", f"{_OFFICE}.presentationml.presentation"),
    (b"META-INF/MANIFEST.MF", "a Java archive", "application/java-archive"),
)
_ZIP_BY_EXTENSION = {
    "docx": _ZIP[4][1:],
    "xlsx": _ZIP[5][1:],
    "pptx": _ZIP[6][1:],
}


def find_signature(head: bytes, extension: str) -> Signature | None:
    """Return what the beginning of a file shows, ``None`` where it shows nothing known.

    ``extension`` (lower case, no dot) only tells apart files whose first bytes are the same container.
    """
    if head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return _inside_zip(head, extension)
    if head[:8] == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
        return Signature(head[:8], "an old Office file (DOC, XLS, PPT or MSG)", "application/x-ole-storage")
    if head[:4] == b"RIFF" and head[8:12] in _RIFF:
        return Signature(b"RIFF", *_RIFF[head[8:12]])
    if head[4:8] == b"ftyp":
        image = _FTYP_IMAGES.get(head[8:12])
        return Signature(b"ftyp", "an image", image, 4) if image else Signature(b"ftyp", "a video", "video/mp4", 4)
    # Texts begin with BM and MZ too.
    if head[:2] == b"BM" and int.from_bytes(head[14:18], "little") in _BITMAP_HEADER_SIZES:
        return Signature(b"BM", "a BMP image", "image/bmp")
    if head[:2] == b"MZ" and b"\x00" in head[:64]:
        return Signature(b"MZ", "a Windows program", "application/vnd.microsoft.portable-executable")
    return next((s for s in SIGNATURES if head.startswith(s.magic, s.offset)), None)


def _inside_zip(head: bytes, extension: str) -> Signature:
    for marker, label, mime_type in _ZIP:
        if marker in head:
            return Signature(head[:4], label, mime_type)
    label, mime_type = _ZIP_BY_EXTENSION.get(extension, ("a ZIP archive", "application/zip"))
    return Signature(head[:4], label, mime_type)
