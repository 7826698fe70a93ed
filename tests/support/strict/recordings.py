"""Recorded traffic as the rules want it: rows of a file, and the wire and request that a recorded exchange means."""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from support.strict import anthropic, chat, google, responses
from support.strict.routes import route
from support.strict.rule import Violation, WireRequest

_HOSTS = (
    (re.compile(r"api\.openai\.com|openai\.azure\.com"), "openai"),
    (re.compile(r"api\.anthropic\.com"), "anthropic"),
    (re.compile(r"generativelanguage\.googleapis\.com|aiplatform\.googleapis\.com"), "google"),
    (re.compile(r"api\.fireworks\.ai"), "fireworks"),
    (re.compile(r"api\.deepseek\.com"), "deepseek"),
)
CHECKS: dict[str, Callable[[WireRequest], list[Violation]]] = {
    "anthropic": anthropic.check,
    "responses": responses.check,
    "chat": chat.check,
    "google": google.check,
}


def rows(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of one recording file (`anthropic`, `errors`, …)."""
    with lzma.open(folder / f"{name}.jsonl.xz", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def exchanges(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    """Yield rows with `url`, `method`, `req`, `status`, `resp`, whatever the file's own shape."""
    for row in rows(folder, name):
        if "text" in row:
            recording = json.loads(row["text"])
            asked, given = recording["request"], recording["response"]
            # The tool that recorded doubled the version in the path.
            url = asked["url"].replace("/v1/v1/", "/v1/")
            yield {
                "url": url,
                "method": "POST",
                "req": asked["body"],
                "status": 200,
                "resp": given,
                "req_headers": None,
            }
        else:
            yield {"method": "POST", "req_headers": None, **row}


def request_of(row: dict[str, Any]) -> WireRequest | None:
    """Return the request of an exchange, `None` where it is none that the rules cover."""
    split = urlsplit(row["url"])
    place = f"{split.path}?{split.query}"
    found = route(row["method"], place)
    host = next((name for pattern, name in _HOSTS if pattern.search(row["url"])), "compatible")
    if found is None or found.operation not in ("generate", "count_tokens") or not isinstance(row["req"], dict):
        return None
    body = row["req"]
    if found.wire == "google" and found.operation == "count_tokens":
        return None
    headers = row["req_headers"]
    return WireRequest(
        wire=found.wire,
        body=body,
        model=found.model or body.get("model", ""),
        operation=found.operation,
        stream=found.stream or body.get("stream") is True,
        headers={name.lower(): value for name, value in headers.items()} if headers else None,
        path=place,
        profile=host if found.wire in ("chat", "responses") else "",
    )
