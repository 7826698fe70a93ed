"""One table from typed errors to notices: what is said, how loud, which buttons; translations are ``ui``'s."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from doc_processing_toolkit.core.errors import EnvelopeError
from turnleaf.services.notice_table import TABLE, Severity
from turnleaf.services.redaction import redact

log = logging.getLogger(__name__)

MAX_DETAILS = 4_000


@dataclass(frozen=True, slots=True)
class Notice:
    """A message for the user. ``id`` and ``arguments`` choose and fill ``ui``'s text; ``actions`` are button ids.

    ``text`` says the same in plain English, ready to be shown; ``details`` are the error's own words, without
    secrets. Everything in it is plain text.
    """

    id: str
    text: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    severity: Severity = "error"
    actions: tuple[str, ...] = ()
    details: str = ""


def notice_of(error: BaseException) -> Notice:
    """Return the notice for an error; one in no line of the table has the id ``"unexpected"`` and is logged whole."""
    rule = next((rule for rule in TABLE if rule.fits(error)), None)
    if rule is None:
        log.error("an error that no notice is written for", exc_info=error)
        return Notice(
            id="unexpected",
            text="Something went wrong that should not; the log says more.",
            arguments={"type": type(error).__name__},
            actions=("show_log",),
            details=details_of(error),
        )
    arguments = _arguments(error)
    return Notice(
        id=rule.id,
        text=rule.text.format_map(arguments),
        arguments=arguments,
        severity=rule.severity,
        actions=rule.actions,
        details=details_of(error),
    )


def details_of(error: BaseException) -> str:
    """Return the error's own words and those of its causes, bounded and without secrets."""
    lines: list[str] = []
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen and len(lines) < 8:
        seen.add(id(current))
        text = str(current).strip()
        lines.append(f"{type(current).__name__}: {text}" if text else type(current).__name__)
        current = current.__cause__
    return redact("\n".join(lines))[:MAX_DETAILS]


def _arguments(error: BaseException) -> dict[str, str]:
    path = getattr(error, "path", None)
    retry_after = getattr(error, "retry_after", None)
    arguments = {
        "name": getattr(error, "name", "") or (path.name if isinstance(path, Path) else "") or _source(error),
        "path": str(path) if path is not None else "",
        "provider": _provider(getattr(error, "provider", "")),
        "model": getattr(error, "model_id", ""),
        "reason": getattr(error, "reason", ""),
        "status": str(getattr(error, "status", None) or ""),
        "wait_seconds": str(math.ceil(retry_after)) if retry_after is not None else "",
    }
    return {name: redact(str(value)) for name, value in arguments.items()}


def _source(error: BaseException) -> str:
    """The file that an error of the toolkit's reader names first, by its last part."""
    source, colon, _ = str(error).partition(": ")
    return Path(source).name if isinstance(error, EnvelopeError) and colon else "The file"


def _provider(name: str) -> str:
    return {"local": "The local model", "openai-compatible": "The server", "": "The model"}.get(name, name.capitalize())
