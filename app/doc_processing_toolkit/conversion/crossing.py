"""Taking a history to another row: what stays, what is left behind, what is refused; one function for all of it.

Within one dialect messages and ids stay. Crossing to another dialect is not part of this version and is refused.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from doc_processing_toolkit.core import switches
from doc_processing_toolkit.core.errors import EnvelopeError, SessionCompatibilityError, UnsupportedPartError
from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.core.times import utc_now
from doc_processing_toolkit.dialects.detect import dialect_of, foreign_dialect, lens_of
from doc_processing_toolkit.dialects.view import BlockView, Kind, Lens, MediaReference
from doc_processing_toolkit.media.placeholders import Held, placeholder, replace_media

log = logging.getLogger(__name__)

_VISIBLE = ("image", "audio", "video")


@dataclass(frozen=True, slots=True)
class Origin:
    """Who wrote the history: the provider (``None`` where nobody knows), and the Anthropic container it used."""

    provider: str | None
    container_id: str | None = None


@dataclass(frozen=True, slots=True)
class Crossing:
    """The history as the target takes it. ``converted_from`` is ``None`` when nothing had to be converted."""

    messages: list[Message]
    converted_from: str | None = None
    report: list[dict[str, Any]] = field(default_factory=list)
    dropped_parts: list[dict[str, Any]] = field(default_factory=list)


def cross(
    messages: Sequence[Message],
    origin: Origin,
    row: ModelRow,
    *,
    policy: str,
    boundaries: Sequence[dict[str, int]] = (),
    source: str = "",
) -> Crossing:
    """Return the history for ``row``; nothing is changed in place.

    Raises ``EnvelopeError`` for a message in no known shape, ``SessionCompatibilityError`` for a history that cannot
    go there, and ``UnsupportedPartError`` under ``policy="raise"`` for a part that the row does not take.
    """
    lens = lens_of(row.dialect)
    _check_shapes(messages, source)
    _refuse_foreign(messages, origin, row, boundaries)
    crosses = origin.provider is not None and origin.provider != row.provider
    is_native = crosses and any(dialect_of(message) != "neutral" for message in messages)
    report: list[dict[str, Any]] = []
    kept = list(messages)
    if is_native:
        if switches.is_off(switches.CROSS_PROVIDER_CONVERSION):
            raise SessionCompatibilityError(
                f"the history was written on {origin.provider} and conversion is switched off; use that provider"
            )
        _refuse_open_round(kept, lens, boundaries)
        kept = _without_reasoning(kept, lens, report)
    if crosses and origin.container_id is not None:
        report.append({"kind": "dropped", "artefact": "container", "index": 0, "detail": "an Anthropic container id"})
    kept, dropped = _fitting(kept, lens, row, policy, report if crosses else None)
    stamp = {"from": origin.provider, "to": row.provider, "at": utc_now()}
    _log(report, origin, row)
    return Crossing(kept, origin.provider if is_native else None, [{**entry, **stamp} for entry in report], dropped)


def count_kept(crossing: Crossing, row: ModelRow) -> dict[str, Any]:
    """Return the ``kept`` entry of a preview: messages, tool rounds and media that stay."""
    lens = lens_of(row.dialect)
    rounds = sum(any(view.kind is Kind.CALL for view in lens.views(message)) for message in crossing.messages)
    media = sum(len(lens.media_views(message)) for message in crossing.messages)
    return {"kind": "kept", "messages": len(crossing.messages), "tool_rounds": rounds, "media": media}


def _check_shapes(messages: Sequence[Message], source: str) -> None:
    for index, message in enumerate(messages):
        if dialect_of(message) is None:
            place = f"{source}: " if source else ""
            raise EnvelopeError(f"{place}messages[{index}] is no message of any known provider")


def _refuse_foreign(
    messages: Sequence[Message], origin: Origin, row: ModelRow, boundaries: Sequence[dict[str, int]]
) -> None:
    found = foreign_dialect(messages, row.dialect)
    if found is None:
        return
    index, dialect = found
    raise SessionCompatibilityError(
        f"{_turn(index, boundaries)} is written in {dialect}'s form, which this version cannot convert for "
        f"{row.provider}; continue it on {origin.provider or dialect}"
    )


def _refuse_open_round(messages: Sequence[Message], lens: Lens, boundaries: Sequence[dict[str, int]]) -> None:
    """Refuse what no provider would take over: a call without a result or a name, a result without a call (K03)."""
    open_calls: dict[str | None, int] = {}
    for index, message in enumerate(messages):
        for view in lens.views(message):
            if view.kind is Kind.CALL:
                if not view.name:
                    raise _refused(index, boundaries, "holds a tool call without a name")
                open_calls[view.call_id] = index
            elif view.kind is Kind.RESULT and open_calls.pop(view.call_id, None) is None:
                raise _refused(index, boundaries, "holds a tool result that matches no call")
    if open_calls:
        raise _refused(min(open_calls.values()), boundaries, "ends inside a tool round")


def _refused(index: int, boundaries: Sequence[dict[str, int]], problem: str) -> SessionCompatibilityError:
    return SessionCompatibilityError(f"{_turn(index, boundaries)} {problem}; truncate before it first")


def _turn(index: int, boundaries: Sequence[dict[str, int]]) -> str:
    for number, record in enumerate(boundaries, start=1):
        if record["start"] <= index < record["end"]:
            return f"turn {number} (message {index})"
    return f"message {index}"


def _without_reasoning(messages: Sequence[Message], lens: Lens, report: list[dict[str, Any]]) -> list[Message]:
    kept: list[Message] = []
    for index, message in enumerate(messages):
        views = lens.views(message)
        rest = [view for view in views if view.kind is not Kind.REASONING]
        rebuilt = lens.rebuild(message, rest)
        if len(rest) < len(views):
            report.append(
                {"kind": "dropped", "artefact": "reasoning_content", "index": index, "detail": "visible reasoning"}
            )
        if rebuilt is not None:
            kept.append(rebuilt)
    return kept


def _fitting(
    messages: list[Message], lens: Lens, row: ModelRow, policy: str, report: list[dict[str, Any]] | None
) -> tuple[list[Message], list[dict[str, Any]]]:
    """Return the messages with a placeholder for each part that the row does not take (J09)."""
    dropped: list[dict[str, Any]] = []

    def decide(index: int, view: BlockView, held: Held) -> BlockView | None:
        kind = _input_type(held)
        if kind is None or row.takes(kind):
            return None
        if policy == "raise":
            raise UnsupportedPartError(f"{row.id} does not take the {kind} in message {index}; it takes {_takes(row)}")
        reason = f"{row.provider} rows of this kind take {_takes(row)}"
        dropped.append(
            {"kind": kind, "index": index, "reason": "input_type", "provider": row.provider, "model": row.id}
        )
        if report is not None:
            report.append({"kind": "dropped", "artefact": "media", "index": index, "detail": reason})
        return lens.text_block(view, placeholder(held, f"not accepted by {row.label}"))

    return replace_media(messages, lens, decide), dropped


def _input_type(held: Held) -> str | None:
    """Return the input type that a media part needs, ``None`` where it does not say."""
    if held.mime_type is None:
        return "image" if isinstance(held, MediaReference) and held.kind == "url" else None
    family = held.mime_type.partition("/")[0]
    return family if family in _VISIBLE else "document"


def _takes(row: ModelRow) -> str:
    return ", ".join(row.input_types)


def _log(report: Sequence[dict[str, Any]], origin: Origin, row: ModelRow) -> None:
    kinds = {entry["kind"] for entry in report}
    for kind in sorted(kinds):
        count = sum(entry["kind"] == kind for entry in report)
        log.warning("%s to %s: %d item(s) %s", origin.provider, row.provider, count, kind)
