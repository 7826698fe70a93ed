"""Text in any encoding: prose, Markdown, code, tables, logs; nothing of it is interpreted."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator

from doc_processing_toolkit.core.errors import DocumentError
from doc_processing_toolkit.documents import sentences
from doc_processing_toolkit.documents.encoding import Encoding, detect_encoding
from doc_processing_toolkit.documents.formats import DocumentKind
from doc_processing_toolkit.documents.protocol import Request
from doc_processing_toolkit.documents.source import Source
from doc_processing_toolkit.documents.writer import Reading, Writer

_SLICE = 256 << 10
# No encoding needs more for a character; a little more for escapes and the byte order mark.
_BYTES_PER_CHARACTER = 4
_SPARE_BYTES = 64 << 10
_MOST_ERRORS = 0.3

_TERMINAL_CODES = re.compile("\x1b\\[[0-?]*[ -/]*[@-~]")
_CONTROLS = re.compile("[\x01-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f]")
_SURROGATES = re.compile("[\ud800-\udfff]")


def read(source: Source, kind: DocumentKind, writer: Writer, request: Request) -> Reading:
    """Write the text with ``\\n`` line ends, without control characters; all else stays as it is.

    Raises ``DocumentError``: ``empty`` where there is nothing but blank space, ``unsupported`` for binary data.
    """
    del kind
    most = min(request.source_bytes, request.characters * _BYTES_PER_CHARACTER + _SPARE_BYTES)
    data = source.read(most, lambda done, total: writer.report(done, total, "bytes"))
    is_whole = source.size <= most
    encoding = detect_encoding(data, is_whole=is_whole)
    if encoding is None:
        raise _binary(request.name)
    decoding = _Decoding(encoding)
    has_text = False
    for text in decoding.pieces(data, is_whole):
        has_text = has_text or not text.isspace()
        writer.write(text)
        if writer.is_full:
            break
    if decoding.errors > _MOST_ERRORS * max(1, decoding.characters):
        raise _binary(request.name)
    if not has_text:
        raise DocumentError(
            f"“{request.name}” is empty: it holds nothing but blank space.", code="empty", name=request.name
        )
    return Reading(
        encoding=encoding.codec,
        encoding_guessed=encoding.guessed,
        notes=(*_part_notes(writer, request, is_whole), *decoding.notes()),
    )


class _Decoding:
    """Decodes and cleans a text piece by piece, counting what could not be kept."""

    def __init__(self, encoding: Encoding) -> None:
        self.characters = 0
        self.errors = 0
        self._encoding = encoding
        self._nuls = 0
        self._controls = 0

    def pieces(self, data: bytearray, is_whole: bool) -> Iterator[str]:
        """Yield the clean text of ``data``, which may end inside a character unless it ``is_whole``."""
        codecs.register_error("mark", self._mark)
        decoder = codecs.getincrementaldecoder(self._encoding.codec)("mark")
        lines = io.IncrementalNewlineDecoder(decoder, translate=True)
        for start in range(self._encoding.skip, len(data), _SLICE):
            is_last = start + _SLICE >= len(data)
            text = lines.decode(bytes(data[start : start + _SLICE]), final=is_last and is_whole)
            self.characters += len(text)
            if cleaned := self._clean(text):
                yield cleaned

    def notes(self) -> Iterator[str]:
        """Yield a sentence for each kind of thing that is not in the text as it was in the file."""
        name = self._encoding.codec
        if self.errors:
            verb = "is" if self.errors == 1 else "are"
            yield f"{sentences.count(self.errors, 'place')} could not be decoded as {name} and {verb} marked “\ufffd”."
        if self._nuls:
            yield f"{sentences.count(self._nuls, 'NUL character')} {_were(self._nuls)} left out."
        if self._controls:
            yield f"{sentences.count(self._controls, 'control character')} {_were(self._controls)} left out."

    def _mark(self, error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeDecodeError):
            raise error
        self.errors += 1
        return "\ufffd", error.end

    def _clean(self, text: str) -> str:
        self._nuls += text.count("\x00")
        text, codes = _TERMINAL_CODES.subn("", text.replace("\x00", "").replace("\x85", "\n"))
        text, controls = _CONTROLS.subn("", text)
        self._controls += codes + controls
        return _SURROGATES.sub("\ufffd", text)


def _part_notes(writer: Writer, request: Request, is_whole: bool) -> Iterator[str]:
    if writer.is_full:
        yield f"{_part(writer)} No more than {request.characters:,} are read."
    elif not is_whole:
        yield f"{_part(writer)} No more than {sentences.size(request.source_bytes)} of a file are read."


def _part(writer: Writer) -> str:
    return f"Only the first {writer.position:,} characters are included."


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _binary(name: str) -> DocumentError:
    return DocumentError(
        f"“{name}” cannot be read as text: it seems to be binary data of an unknown kind. "
        "PDF and text files can be read.",
        code="unsupported",
        name=name,
    )
