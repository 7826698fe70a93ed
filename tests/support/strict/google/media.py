"""Gemini media: inline data, sizes, files of the Files API (W-G24 to W-G27)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from support.strict.google.parts import spelled
from support.strict.google.signatures import demands_signatures
from support.strict.payloads import decode_base64, decode_head, pdf_pages, sniff
from support.strict.rule import Found, Json, Violation, WireRequest, as_list, as_object, as_text

_INLINE_BYTES = 100 * 1024 * 1024
_KINDS = ("image/", "audio/", "video/", "text/", "application/pdf", "application/json", "application/rtf")
_NOT_TAKEN = ("image/svg+xml", "image/tiff", "image/bmp", "image/gif")


@dataclass(frozen=True)
class KnownFile:
    """What the server knows of an uploaded file: who may use it, and its state (`PROCESSING`, `ACTIVE`, `FAILED`)."""

    owner: str
    state: str
    expired: bool = False


def check_media(request: WireRequest, contents: list[Any], files: Mapping[str, KnownFile] | None, owner: str) -> Found:
    """W-G24 to W-G27 over every part, nested ones too. `files` by name; `None` = not known here."""
    if request.size > _INLINE_BYTES:
        text = f"Request payload size exceeds the limit: {_INLINE_BYTES} bytes."
        yield Violation("W-G25", "", text)
    for place, part, nested in _parts(contents):
        if nested and not demands_signatures(request.model):
            text = f"Multimodal function responses are not supported by models/{request.model}."
            yield Violation("W-G27", place, text)
        if "inlineData" in part:
            yield from _check_inline(spelled(part["inlineData"]), place)
        elif "fileData" in part and files is not None:
            yield from _check_file(as_text(spelled(part["fileData"]).get("fileUri")), place, files, owner)


def _parts(contents: list[Any]) -> Iterator[tuple[str, Json, bool]]:
    for number, content in enumerate(contents):
        for index, given in enumerate(as_list(as_object(content).get("parts"))):
            place, part = f"contents[{number}].parts[{index}]", spelled(given)
            yield place, part, False
            for inner, nested in enumerate(as_list(spelled(part.get("functionResponse")).get("parts"))):
                yield f"{place}.function_response.parts[{inner}]", spelled(nested), True


def _check_inline(blob: Json, place: str) -> Found:
    mime, data = as_text(blob.get("mimeType")), as_text(blob.get("data"))
    if not mime.startswith(_KINDS) or mime in _NOT_TAKEN:
        yield Violation("W-G26", place, f"Unsupported MIME type: {mime}")
        return
    head = decode_head(data)
    if not head:
        text = f"Invalid value at '{place}.inline_data.data' (TYPE_BYTES), Base64 decoding failed for \"{data[:40]}\""
        yield Violation("W-G26", place, text)
    elif mime in ("image/png", "image/jpeg") and not (sniff(head) or "").startswith("image/"):
        yield Violation("W-G26", place, "Provided image is not valid.")
    elif mime == "application/pdf" and not _has_pages(data, head):
        yield Violation("W-G26", place, "The document has no pages.")


def _has_pages(data: str, head: bytes) -> bool:
    whole = decode_base64(data) or b""
    # Pages inside compressed object streams cannot be counted here.
    return sniff(head) == "application/pdf" and (pdf_pages(whole) > 0 or b"/ObjStm" in whole)


def _check_file(uri: str, place: str, files: Mapping[str, KnownFile], owner: str) -> Found:
    if "/files/" not in uri:
        return
    name = uri.rsplit("/files/", 1)[1]
    known = files.get(f"files/{name}")
    if known is None or known.expired or known.owner != owner:
        text = f"You do not have permission to access the File {name} or it may not exist."
        yield Violation("W-G24", place, text, status=403, code="PERMISSION_DENIED")
    elif known.state != "ACTIVE":
        text = f"The File files/{name} is not in an ACTIVE state and usage is not allowed."
        yield Violation("W-G24", place, text, code="FAILED_PRECONDITION")
