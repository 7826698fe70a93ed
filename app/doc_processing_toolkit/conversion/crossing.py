"""Taking a history to another row: what stays, what is left behind, what is refused; one function for all of it.

Within one dialect messages and ids stay; into another the history is converted.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from doc_processing_toolkit.conversion.convert import Source, convert
from doc_processing_toolkit.conversion.neutral import Notes
from doc_processing_toolkit.conversion.pairing import HistoryRefusedError, pair
from doc_processing_toolkit.conversion.read import is_plain, is_plain_text, read
from doc_processing_toolkit.conversion.rules import RULES
from doc_processing_toolkit.core import switches
from doc_processing_toolkit.core.errors import EnvelopeError, SessionCompatibilityError, UnsupportedPartError
from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.core.times import utc_now
from doc_processing_toolkit.dialects.detect import dialect_of, foreign_dialect, lens_of
from doc_processing_toolkit.dialects.view import BlockView, InlineMedia, Kind, Lens, MediaReference
from doc_processing_toolkit.media.placeholders import Held, placeholder, replace_media
from doc_processing_toolkit.registry.rows import rows

__all__ = ["Crossing", "HistoryRefusedError", "Origin", "count_kept", "cross", "log_crossing", "stored_dialect"]

log = logging.getLogger(__name__)

_VISIBLE = ("image", "audio", "video")


@dataclass(frozen=True, slots=True)
class Origin:
    """Who wrote the history: the provider (``None`` where nobody knows), and the Anthropic container it used.

    ``uploads`` holds the bytes of Google uploads by their address, where they were kept.
    """

    provider: str | None
    container_id: str | None = None
    uploads: Mapping[str, InlineMedia] = field(default_factory=dict)


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
    _check_shapes(messages, source)
    dialect = stored_dialect(messages, origin.provider, row)
    notes = Notes()
    converted_from: str | None = None
    crosses = origin.provider is not None and origin.provider != row.provider
    if dialect != row.dialect:
        name = _name_of(dialect, origin)
        _refuse_when_switched_off(messages, name)
        kept, notes = convert(messages, Source(dialect, name, boundaries, origin.uploads), row, policy)
        converted_from, crosses = name, True
    else:
        name = origin.provider or row.provider
        kept = list(messages)
        if crosses and any(dialect_of(message) != "neutral" for message in messages):
            _refuse_when_switched_off(messages, name)
            pair(read(messages, dialect, Notes()), boundaries)
            kept = _without_reasoning(kept, lens_of(dialect), notes)
            converted_from = name
        kept = _fitting(kept, lens_of(dialect), row, policy, notes, is_reported=crosses)
    if crosses and origin.container_id is not None:
        notes.drop("container", 0, "an Anthropic container id")
    stamp = {"from": name, "to": row.provider, "at": utc_now()}
    return Crossing(kept, converted_from, [{**entry, **stamp} for entry in notes.report], notes.dropped_parts)


def stored_dialect(messages: Sequence[Message], provider: str | None, row: ModelRow) -> str:
    """Return the dialect that a history is written in: the row's own when every message can be in that.

    The messages decide; ``provider``, who is said to have written them, only where their shape leaves it open.
    """
    said = _dialect_at(provider)
    is_elsewhere = said is not None and said != row.dialect
    foreign = foreign_dialect(messages, row.dialect)
    if foreign is None:
        # Text in the neutral form stays; text with marks of its provider (citations, cache marks) is that provider's.
        has_marks = is_elsewhere and any(dialect_of(each) == "neutral" and not is_plain(each) for each in messages)
        return said if said is not None and has_marks else row.dialect
    start = foreign[0]
    if said is not None and is_elsewhere and lens_of(said).sniff(messages[start]):
        return said
    return foreign[1]


def count_kept(crossing: Crossing, row: ModelRow) -> dict[str, Any]:
    """Return the ``kept`` entry of a preview: messages, tool rounds and media that stay."""
    lens = lens_of(row.dialect)
    rounds = media = 0
    in_round = False
    for message in crossing.messages:
        has_call = any(view.kind is Kind.CALL for view in lens.views(message))
        # The calls of one answer may be several messages.
        rounds += has_call and not in_round
        in_round = has_call
        media += len(lens.media_views(message))
    return {"kind": "kept", "messages": len(crossing.messages), "tool_rounds": rounds, "media": media}


def log_crossing(crossing: Crossing) -> None:
    """Say in one warning per kind what a crossing dropped and re-keyed."""
    for kind in sorted({entry["kind"] for entry in crossing.report}):
        found = [entry for entry in crossing.report if entry["kind"] == kind]
        artefacts = sorted({entry["artefact"] for entry in found if "artefact" in entry})
        what = f" ({', '.join(artefacts)})" if artefacts else ""
        log.warning("%s to %s: %d item(s) %s%s", found[0]["from"], found[0]["to"], len(found), kind, what)


def _dialect_at(provider: str | None) -> str | None:
    return next((row.dialect for row in rows() if row.provider == provider), None)


def _name_of(dialect: str, origin: Origin) -> str:
    """Return who a history is from: the provider, if it speaks the dialect, else the dialect's own name."""
    if origin.provider is not None and _dialect_at(origin.provider) in (None, dialect):
        return origin.provider
    return RULES[dialect].source_name


def _refuse_when_switched_off(messages: Sequence[Message], name: str) -> None:
    if switches.is_off(switches.CROSS_PROVIDER_CONVERSION) and any(map(_is_native, messages)):
        raise SessionCompatibilityError(
            f"the history was written on {name} and conversion is switched off; use that provider"
        )


def _is_native(message: Message) -> bool:
    """Whether a message is more than text; a Gemini content of text alone is none (K09)."""
    dialect = dialect_of(message)
    if dialect != "google":
        return dialect != "neutral"
    kinds = {view.kind for view in lens_of("google").views(message)}
    return not kinds <= {Kind.TEXT, Kind.REASONING}


def _check_shapes(messages: Sequence[Message], source: str) -> None:
    for index, message in enumerate(messages):
        if not is_plain_text(message) and dialect_of(message) is None:
            place = f"{source}: " if source else ""
            raise EnvelopeError(f"{place}messages[{index}] is no message of any known provider")


def _without_reasoning(messages: Sequence[Message], lens: Lens, notes: Notes) -> list[Message]:
    kept: list[Message] = []
    for index, message in enumerate(messages):
        views = lens.views(message)
        rest = [view for view in views if view.kind is not Kind.REASONING]
        rebuilt = lens.rebuild(message, rest)
        if len(rest) < len(views):
            notes.drop("reasoning_content", index, "visible reasoning")
        if rebuilt is not None:
            kept.append(rebuilt)
    return kept


def _fitting(
    messages: list[Message], lens: Lens, row: ModelRow, policy: str, notes: Notes, *, is_reported: bool
) -> list[Message]:
    """Return the messages with a placeholder for each part that the row does not take (J09)."""

    def decide(index: int, view: BlockView, held: Held) -> BlockView | None:
        kind = _input_type(held)
        if kind is None or row.takes(kind):
            return None
        if policy == "raise":
            raise UnsupportedPartError(f"{row.id} does not take the {kind} in message {index}; it takes {_takes(row)}")
        notes.dropped_parts.append(
            {"kind": kind, "index": index, "reason": "input_type", "provider": row.provider, "model": row.id}
        )
        if is_reported:
            notes.drop("media", index, f"{row.provider} rows of this kind take {_takes(row)}")
        return lens.text_block(view, placeholder(held, f"not accepted by {row.label}"))

    return replace_media(messages, lens, decide)


def _input_type(held: Held) -> str | None:
    """Return the input type that a media part needs, ``None`` where it does not say."""
    if held.mime_type is None:
        return "image" if isinstance(held, MediaReference) and held.kind == "url" else None
    family = held.mime_type.partition("/")[0]
    return family if family in _VISIBLE else "document"


def _takes(row: ModelRow) -> str:
    return ", ".join(row.input_types)
