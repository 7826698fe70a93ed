"""OpenAI media: data URLs, image formats, file types, sizes (W-O19 to W-O22)."""

from __future__ import annotations

from collections.abc import Iterator

from support.strict.payloads import decode_head, sniff, split_data_url
from support.strict.responses.fields import missing
from support.strict.rule import Found, Json, Violation, as_list, as_object, as_text

IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_FIFTY_MB = 50 * 1024 * 1024
_NO_FILES = ("audio/", "video/", "image/", "font/", "model/")


def parts_of(items: list[Json]) -> Iterator[tuple[str, Json]]:
    """Yield every content part of messages and outputs with its path."""
    for number, item in enumerate(items):
        for key in ("content", "output"):
            for index, part in enumerate(as_list(item.get(key))):
                yield f"input[{number}].{key}[{index}]", as_object(part)


def check_media(items: list[Json]) -> Found:
    """W-O19 to W-O22 over all parts of a request."""
    images = files = 0
    for place, part in parts_of(items):
        if part.get("type") == "input_image":
            url = as_text(part.get("image_url"))
            images += len(url) * 3 // 4 if url.startswith("data:") else 0
            yield from check_image(url, f"{place}.image_url", given=bool(part.get("file_id")))
        elif part.get("type") == "input_file":
            files += len(as_text(part.get("file_data"))) * 3 // 4
            yield from _check_file(part, place)
    if images > _FIFTY_MB:
        size = images / (1024 * 1024)
        text = f"Total image size is {size:.2f}MB, which exceeds the allowed limit of 50MB."
        yield Violation("W-O22", "input", text, code="invalid_value", param="input")
    if files > _FIFTY_MB:
        text = f"The total size of the files exceeds the limit of {_FIFTY_MB} bytes."
        yield Violation("W-O22", "input", text, code="invalid_value", param="input")


def check_image(url: str, place: str, *, given: bool = False) -> Found:
    """W-O21: an image is a data URL of one of four formats whose bytes are of that kind, or a web address."""
    if given or url.startswith(("http://", "https://")):
        return
    split = split_data_url(url)
    if split is None:
        text = f"Invalid '{place}'. Expected a base64-encoded data URL with an image MIME type, but got something else."
        yield Violation("W-O21", place, text, code="invalid_value", param=place)
    elif split[0] not in IMAGE_TYPES or sniff(decode_head(split[1]) or b"") not in IMAGE_TYPES:
        text = (
            "You uploaded an unsupported image. Please make sure your image has of one the following formats: "
            "['png', 'jpeg', 'gif', 'webp']."
        )
        yield Violation("W-O21", place, text, code="invalid_image_format")


def _check_file(part: Json, place: str) -> Found:
    data = part.get("file_data")
    if data is None:
        if not (part.get("file_id") or part.get("file_url")):
            yield missing(f"{place}.file_id", "W-O19")
        return
    split = split_data_url(as_text(data))
    mime = split[0] if split else "None"
    if split is None or not mime or mime.startswith(_NO_FILES):
        text = (
            f"Invalid file data: '{place}.file_data'. Expected a base64-encoded data URL with a valid file MIME type "
            f"(e.g. 'data:text/plain;base64,…'), but got unsupported MIME type '{mime}'."
        )
        yield Violation("W-O19", place, text, code="invalid_value", param=f"{place}.file_data")
    if not part.get("filename"):
        yield missing(f"{place}.filename", "W-O19")
