"""Restoring a session: the envelope's content under the agent that continues it (H03–H09, J05, J09, K06)."""

from __future__ import annotations

import logging
import math
import os
import reprlib
from collections.abc import Mapping
from typing import Any

from doc_processing_toolkit.conversion.crossing import Crossing, Origin, cross, stored_dialect
from doc_processing_toolkit.core.errors import EnvelopeError
from doc_processing_toolkit.core.protocols import MediaStore, Message, Runner
from doc_processing_toolkit.dialects.detect import lens_of
from doc_processing_toolkit.envelope.fingerprint import compare
from doc_processing_toolkit.envelope.read import ReadEnvelope, load, read
from doc_processing_toolkit.history.boundaries import valid_boundaries
from doc_processing_toolkit.history.config import HistoryConfig, check_history_config, resolve_history_config
from doc_processing_toolkit.media.policy import restore_media
from doc_processing_toolkit.media.store import store_from
from doc_processing_toolkit.session.metadata import COUNTERS, LISTS, new_metadata
from doc_processing_toolkit.session.rebind import adopt
from doc_processing_toolkit.session.state import LATE_POLICIES, SessionState

log = logging.getLogger(__name__)

_LARGEST_COUNTER = 2**63


def restore_json(source: Any, runner: Runner, media_store: Any) -> SessionState:
    """Return the state in JSON text, bytes, or a file."""
    data, name = load(source)
    return restore(data, runner, media_store, source=name)


def restore(
    data: Any, runner: Runner, media_store: MediaStore | str | os.PathLike[str] | None, *, source: str
) -> SessionState:
    """Return the state that an envelope holds, as ``runner`` continues it."""
    envelope = read(data, source)
    store = store_from(media_store) or runner.media_store
    # Media first: what a conversion writes depends on the bytes.
    lens = lens_of(stored_dialect(envelope.messages, envelope.provider, runner.row))
    media = restore_media(envelope.messages, lens, envelope.media, store)
    crossing = _crossed(envelope, media.messages, runner)
    state = SessionState(
        config=_history_config(envelope, runner),
        messages=crossing.messages,
        metadata=_metadata(envelope, len(crossing.messages)),
        late_injection_policy=_late_policy(envelope),
        max_follow_up_turns=_follow_ups(envelope),
        media_table=media.table,
        media_report=[*envelope.media_report, *media.report],
        anthropic_container_id=envelope.anthropic_container_id if _is_at_home(envelope, runner) else None,
        prefix_change_report=compare(envelope.prefix_fingerprint, runner.prefix_fingerprint()),
        restored_from_schema_version=envelope.schema_version,
    )
    if envelope.session_id:
        state.session_id = envelope.session_id
    adopt(state, crossing)
    _log_changes(state)
    if envelope.provider is not None and crossing.converted_from is None and not _is_at_home(envelope, runner):
        log.info("the history of %s is plain text and continues on %s", envelope.provider, runner.provider)
    return state


def _crossed(envelope: ReadEnvelope, messages: list[Message], runner: Runner) -> Crossing:
    origin = Origin(envelope.provider, envelope.anthropic_container_id)
    records = valid_boundaries(envelope.metadata.get("run_boundaries"), len(envelope.messages))
    return cross(
        messages,
        origin,
        runner.row,
        policy=runner.on_unsupported_part,
        boundaries=records,
        source=envelope.source,
    )


def _is_at_home(envelope: ReadEnvelope, runner: Runner) -> bool:
    return envelope.provider in (None, runner.provider)


def _metadata(envelope: ReadEnvelope, length: int) -> dict[str, Any]:
    """Return the saved accounting merged over the defaults (H07)."""
    fresh = new_metadata()
    saved = {key: value for key, value in envelope.metadata.items() if value is not None}
    for name, default in COUNTERS.items():
        if name in saved:
            saved[name] = _counter(envelope, name, saved[name], default)
    for name in (*LISTS, "pending_injections", "conversion_report"):
        if name in saved and not isinstance(saved[name], list):
            raise _wrong(envelope, name, "a list")
    for name in ("created_at", "updated_at"):
        if name in saved and not isinstance(saved[name], str):
            raise _wrong(envelope, name, "a time as text")
    _check_entries(envelope, saved)
    saved["run_boundaries"] = valid_boundaries(saved.get("run_boundaries"), length)
    return {**fresh, **saved}


def _check_entries(envelope: ReadEnvelope, saved: Mapping[str, Any]) -> None:
    for name in ("served_models", "conversion_report", "compaction_events"):
        if not all(isinstance(entry, dict) for entry in saved.get(name, ())):
            raise _wrong(envelope, name, "a list of objects")
    if not all(isinstance(text, str) for text in saved.get("pending_injections", ())):
        raise _wrong(envelope, "pending_injections", "a list of texts")
    interrupted = saved.get("interrupted_turn")
    if interrupted is not None and not isinstance(interrupted, dict):
        raise _wrong(envelope, "interrupted_turn", "an object")


def _counter(envelope: ReadEnvelope, name: str, value: Any, default: int | float) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _wrong(envelope, name, "a number")
    if not 0 <= value < _LARGEST_COUNTER:
        raise _wrong(envelope, name, "a number from 0")
    if isinstance(default, int) and isinstance(value, float):
        if value != int(value):
            raise _wrong(envelope, name, "a whole number")
        return int(value)
    return value


def _wrong(envelope: ReadEnvelope, name: str, expected: str) -> EnvelopeError:
    return EnvelopeError(f"{envelope.source}: metadata.{name} must be {expected}")


def _history_config(envelope: ReadEnvelope, runner: Runner) -> HistoryConfig:
    """Return what the envelope says, else what the agent and the environment say."""
    saved = envelope.history_config
    if saved:
        try:
            check_history_config(saved)
        except (ValueError, TypeError) as error:
            log.warning("%s: %s; using the agent's", envelope.source, error)
        else:
            return resolve_history_config(saved, None)
    return resolve_history_config(None, runner.session_history_config)


def _late_policy(envelope: ReadEnvelope) -> str:
    policy = envelope.late_injection_policy
    if policy is None:
        return "surface"
    if policy not in LATE_POLICIES:
        log.warning("%s: late_injection_policy is %s; using 'surface'", envelope.source, reprlib.repr(policy))
        return "surface"
    return str(policy)


def _follow_ups(envelope: ReadEnvelope) -> int:
    count = envelope.max_follow_up_turns
    if count is None:
        return 1
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count < _LARGEST_COUNTER:
        log.warning("%s: max_follow_up_turns is %s; using 1", envelope.source, reprlib.repr(count))
        return 1
    return count


def _log_changes(state: SessionState) -> None:
    report = state.prefix_change_report
    if report is not None:
        log.info("restored under another prefix: %s changed", ", ".join(report["changed"]))
