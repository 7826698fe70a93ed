"""The process that reads one document: started for it, limited, and gone with it.

Started by ``worker_main``; see ``protocol`` for what goes in and out. It ends when its standard input closes, so that
it never outlives the application.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from io import FileIO
from types import TracebackType

from doc_processing_toolkit.core.errors import DocumentError
from doc_processing_toolkit.documents import confine
from doc_processing_toolkit.documents.formats import HEAD_BYTES, DocumentKind, identify, reader_of
from doc_processing_toolkit.documents.protocol import (
    EXIT_FAULT,
    EXIT_MEMORY,
    Message,
    Request,
    encode_message,
    read_request,
)
from doc_processing_toolkit.documents.source import Source, open_source
from doc_processing_toolkit.documents.writer import Writer

Send = Callable[[Message], None]


def main() -> None:
    """Read the request from standard input and write the messages to standard output."""
    inlet, outlet = _take_over_pipes()
    send = _sender(outlet)
    sys.excepthook = lambda kind, fault, trace: _end_on_fault(kind, trace, send)
    try:
        request = read_request(inlet)
        memory = confine.confine(request.seconds, request.memory_bytes, lambda: os._exit(EXIT_MEMORY))
        send({"type": "ready", "memory_limit": memory})
        send(_answer(request, inlet, send))
    except (BrokenPipeError, EOFError):
        pass  # The application is gone, and so is the reason to go on.
    # Nothing is left to clean up, and the PDF library need not be taken down piece by piece.
    os._exit(0)


def _take_over_pipes() -> tuple[FileIO, FileIO]:
    """Keep the pipes for the protocol alone: what a library prints goes nowhere."""
    inlet = FileIO(os.dup(0), "r")
    outlet = FileIO(os.dup(1), "w")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)
    return inlet, outlet


def _sender(outlet: FileIO) -> Send:
    def send(message: Message) -> None:
        line = memoryview(encode_message(message))
        while line:
            line = line[outlet.write(line) or 0 :]

    return send


def _end_on_fault(kind: type[BaseException], trace: TracebackType | None, send: Send) -> None:
    """End after a fault of ours: its kind and place are reported, never its words, which may quote the document."""
    # Want of memory has many faces: a library that cannot be loaded, a thread that cannot be started.
    if issubclass(kind, MemoryError) or confine.is_out_of_memory():
        os._exit(EXIT_MEMORY)
    while trace and trace.tb_next:
        trace = trace.tb_next
    place = f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}" if trace else ""
    send({"type": "fault", "detail": f"{kind.__name__} at {place}"})
    os._exit(EXIT_FAULT)


def _answer(request: Request, inlet: FileIO, send: Send) -> Message:
    try:
        source = open_source(request, inlet, lambda: confine.end_with_input(inlet.fileno()))
        return _extract(request, source, Writer(send, request.characters))
    except DocumentError as exc:
        return {"type": "error", "code": exc.code, "message": str(exc)}


def _extract(request: Request, source: Source, writer: Writer) -> Message:
    kind = identify(source.peek(HEAD_BYTES), request.file_name)
    if not kind.is_readable:
        raise _refusal(kind, request.name)
    reading = reader_of(kind).read(source, kind, writer, request)
    writer.flush()
    return {
        "type": "done",
        "kind": kind.name,
        "mime_type": kind.mime_type,
        "sha256": source.sha256,
        "size": source.size,
        **reading._asdict(),
        "remarks": [remark._asdict() for remark in reading.remarks],
    }


def _refusal(kind: DocumentKind, name: str) -> DocumentError:
    if kind.name == "empty":
        return DocumentError(f"“{name}” is empty: it holds no bytes at all.", code="empty", name=name)
    if kind.name == "damaged_pdf":
        return DocumentError(
            f"“{name}” is not a PDF although it is called one: it seems to be {kind.label}. "
            "A download may have gone wrong; get the file again.",
            code="damaged",
            name=name,
        )
    return DocumentError(
        f"“{name}” cannot be read as text: it seems to be {kind.label}. PDF and text files can be read.",
        code="unsupported",
        name=name,
    )
