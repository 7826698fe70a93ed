"""Which wire, server profile and operation an address means."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

PROFILES = ("anthropic", "openai", "google", "fireworks", "deepseek", "compatible")
BASES = {
    "anthropic": "/anthropic",
    "openai": "/openai/v1",
    "google": "/google",
    "fireworks": "/fireworks/inference/v1",
    "deepseek": "/deepseek",
    "compatible": "/compatible/v1",
}
_GOOGLE = re.compile(r".*/models/(?P<model>.+):(?P<method>generateContent|streamGenerateContent|countTokens)\Z")
_METHODS = {"generateContent": "generate", "streamGenerateContent": "generate", "countTokens": "count_tokens"}
# method, path pattern, wire, operation; the first that matches counts.
_TABLE: tuple[tuple[str, re.Pattern[str], str, str], ...] = tuple(
    (method, re.compile(pattern + r"\Z"), wire, operation)
    for method, pattern, wire, operation in (
        ("POST", r".*/v1/messages", "anthropic", "generate"),
        ("POST", r".*/v1/messages/count_tokens", "anthropic", "count_tokens"),
        ("POST", r".*/responses", "responses", "generate"),
        ("POST", r".*/chat/completions", "chat", "generate"),
        ("POST", r".*/upload/.*files", "google", "upload"),
        ("GET", r".*/files/(?P<name>[^/]+)", "google", "get_file"),
        ("DELETE", r".*/files/(?P<name>[^/]+)", "google", "delete_file"),
        ("GET", r".*/files", "google", "list_files"),
        ("GET", r".*/models(/(?P<name>.+))?", "models", "models"),
    )
)


@dataclass(frozen=True)
class Route:
    """An address understood."""

    wire: str
    operation: str
    profile: str
    model: str = ""
    stream: bool = False
    name: str = ""
    upload_id: str = ""


def route(method: str, target: str) -> Route | None:
    """Return what an address means, `None` where it means nothing."""
    split = urlsplit(target)
    first = split.path.strip("/").split("/", 1)[0]
    profile = first if first in PROFILES else ""
    google = _GOOGLE.match(split.path)
    if google and method == "POST":
        streams = google["method"] == "streamGenerateContent"
        return Route("google", _METHODS[google["method"]], "google", google["model"], streams)
    for wanted, pattern, wire, operation in _TABLE:
        match = pattern.match(split.path)
        if match and method == wanted:
            name = match.groupdict().get("name") or ""
            upload = parse_qs(split.query).get("upload_id", [""])[0]
            return Route(wire, operation, profile or _default(wire), name=name, upload_id=upload)
    return None


def _default(wire: str) -> str:
    return {"anthropic": "anthropic", "responses": "openai", "chat": "openai", "google": "google"}.get(wire, "openai")
