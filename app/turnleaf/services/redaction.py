"""Taking secrets out of text before it reaches a log, a file or a details panel."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

REDACTED = "[redacted]"

_NAMES = r"api[-_ ]?key|x-api-key|x-goog-api-key|access[-_]?token|auth[-_]?token|secret|password|passwd"
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    # user:password@ of an address
    (re.compile(r"(?i)\b([a-z][a-z0-9+.\-]*://)[^\s/@]+@"), rf"\1{REDACTED}@"),
    (re.compile(r"""(?i)(\bauthorization["']?\s*[:=]\s*["']?)(?:[a-z]+\s+)?[^\s"',;]+"""), rf"\1{REDACTED}"),
    (re.compile(r"(?i)\bbearer\s+(?=\S*\d)[\w\-.~+/=]{6,}"), f"Bearer {REDACTED}"),
    # the providers' own shapes: sk-…, sk-ant-…, fw_…, AIza…, hf_…, ghp_…
    (re.compile(r"\b(?:sk|pk|rk)[-_][\w\-]{12,}"), REDACTED),
    (re.compile(r"\bAIza[\w\-]{20,}"), REDACTED),
    (re.compile(r"\b(?:fw|hf|ghp|gho|github_pat|xox[abp]|gsk|AQ)[_\-.][\w\-]{12,}"), REDACTED),
    (re.compile(r"\beyJ[\w\-]{10,}\.[\w\-]{10,}\.[\w\-]*"), REDACTED),
    # name = value, "name": "value", ?key=value
    (
        re.compile(rf"""(?i)(["']?\b(?:{_NAMES})\b["']?\s*[:=]\s*)(["']?)(?!\[redacted\])[^\s"',;&}})]+"""),
        rf"\1\2{REDACTED}",
    ),
    (re.compile(r"(?i)([?&](?:key|token|sig|signature)=)[^\s&\"']+"), rf"\1{REDACTED}"),
)
_SECRET_KEY = re.compile(
    r"(?i)(?:^|[-_ ])(?:api[-_ ]?key|apikey|key|token|secret|password|passwd)$|authorization|^headers$"
)


def redact(text: str) -> str:
    """Return `text` with everything that looks like a key, a token or a password replaced."""
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text


def without_secrets(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a recipe without the entries that hold keys, at any depth."""
    return {key: _without(value) for key, value in recipe.items() if not _SECRET_KEY.search(str(key))}


def _without(value: Any) -> Any:
    if isinstance(value, Mapping):
        return without_secrets(value)
    if isinstance(value, list | tuple):
        return [_without(item) for item in value]
    return redact(value) if isinstance(value, str) and "://" in value else value
