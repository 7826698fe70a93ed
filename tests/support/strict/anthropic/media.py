"""Anthropic media and sizes (W-A37 to W-A43)."""

from __future__ import annotations

from collections.abc import Iterator

from support.strict.anthropic.models import Traits
from support.strict.payloads import decode_base64, decode_head, image_size, pdf_pages, sniff
from support.strict.rule import Found, Json, Violation, WireRequest, as_list, as_object, as_text

_REQUEST_BYTES = 32 * 1024 * 1024
_TEXT_BYTES = 9_000_000
_IMAGE_BASE64 = 10 * 1024 * 1024
_IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_MANY_IMAGES = 20
_SIDE, _SIDE_OF_MANY = 8000, 2000


def check_size(request: WireRequest) -> Found:
    """W-A37: bytes of the request, and of its text alone."""
    if request.size > _REQUEST_BYTES:
        text = "Request exceeds the maximum allowed number of bytes"
        yield Violation("W-A37", "", text, status=413)
    total = sum(len(text.encode("utf-8", "surrogatepass")) for text in _texts(request.body))
    if total > _TEXT_BYTES:
        yield Violation("W-A37", "messages", f"too many total text bytes: {total} > {_TEXT_BYTES}")


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("text", "content", "system") and isinstance(inner, str):
                yield inner
            elif key != "source":
                yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def check_media(messages: list[object], traits: Traits) -> Found:
    """W-A38 to W-A43: kinds, bytes, dimensions, and the counts over the whole request."""
    images = pages = 0
    placed = list(_media_blocks(messages))
    total = sum(block["type"] == "image" for _, block in placed)
    for place, block in placed:
        source = as_object(block.get("source"))
        if block["type"] == "image":
            images += 1
            yield from _check_image(f"{place}.image.source", source, many=total > _MANY_IMAGES)
        else:
            yield from _check_document(f"{place}.document.source", source)
            pages += _pages(source)
    most = 600 if traits.many_pages else 100
    if images > most:
        yield Violation("W-A40", "messages", f"messages: A maximum of {most} images may be provided.")
    if pages > most:
        place = next((at for at, block in placed if block["type"] == "document"), "messages")
        text = f"{place}.pdf.source.base64.data: A maximum of {most} PDF pages may be provided."
        yield Violation("W-A41", place, text)


def _media_blocks(messages: list[object]) -> Iterator[tuple[str, Json]]:
    for number, message in enumerate(messages):
        for index, block in enumerate(as_list(as_object(message).get("content"))):
            place = f"messages.{number}.content.{index}"
            if as_object(block).get("type") in ("image", "document"):
                yield place, block
            if as_object(block).get("type") == "tool_result":
                for inner, nested in enumerate(as_list(block.get("content"))):
                    if as_object(nested).get("type") in ("image", "document"):
                        yield f"{place}.tool_result.content.{inner}", nested


def _check_image(place: str, source: Json, *, many: bool) -> Found:
    if source.get("type") != "base64":
        return
    data, declared = as_text(source.get("data")), source.get("media_type")
    if declared not in _IMAGE_TYPES:
        wanted = "'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
        yield Violation("W-A38", place, f"{place}.base64.media_type: Input should be {wanted}")
        return
    if len(data) > _IMAGE_BASE64:
        text = f"{place}.base64.data: image exceeds 10 MB maximum: {len(data)} bytes > {_IMAGE_BASE64} bytes"
        yield Violation("W-A38", place, text)
        return
    head = decode_head(data) or b""
    found = sniff(head)
    if found not in _IMAGE_TYPES:
        yield Violation("W-A43", place, f"{place}.base64.data: The file format is invalid or unsupported")
    elif found != declared:
        text = (
            f"{place}.base64: The image was specified using the {declared} media type, "
            f"but the image appears to be a {found} image"
        )
        yield Violation("W-A43", place, text)
    yield from _check_sides(place, image_size(head), many=many)


def _check_sides(place: str, size: tuple[int, int] | None, *, many: bool) -> Found:
    if size is None:
        return
    most = _SIDE_OF_MANY if many else _SIDE
    if max(size) > most:
        why = " for many-image requests" if many else ""
        text = f"{place}.base64.data: At least one of the image dimensions exceed max allowed size{why}: {most} pixels"
        yield Violation("W-A39", place, text)


def _check_document(place: str, source: Json) -> Found:
    kind, declared = source.get("type"), source.get("media_type")
    if kind == "base64":
        if declared != "application/pdf":
            text = f"{place}.base64.media_type: Input should be 'application/pdf'"
            yield Violation("W-A42", place, text)
        elif sniff(decode_head(as_text(source.get("data"))) or b"") != "application/pdf":
            yield Violation("W-A43", place, f"{place}.base64.data: The PDF specified was not valid.")
    if kind == "text":
        if declared != "text/plain":
            yield Violation("W-A42", place, f"{place}.text.media_type: Input should be 'text/plain'")
        if source.get("data") == "":
            yield Violation("W-A17", place, "messages: text content blocks must be non-empty")


def _pages(source: Json) -> int:
    if source.get("type") != "base64" or source.get("media_type") != "application/pdf":
        return 0
    data = decode_base64(as_text(source.get("data")))
    return pdf_pages(data) if data else 0
