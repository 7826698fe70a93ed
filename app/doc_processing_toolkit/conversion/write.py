"""Writing neutral entries in the target's dialect: results behind their calls, calls last, no text that is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from doc_processing_toolkit.conversion.fitting import Fitting, kind_of
from doc_processing_toolkit.conversion.neutral import Call, Entry, Notes, Part, Result
from doc_processing_toolkit.conversion.rekey import legal_name
from doc_processing_toolkit.conversion.rules import RULES
from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.dialects.detect import lens_of
from doc_processing_toolkit.dialects.view import MediaPart, MediaReference, TextPart, ToolOutcome, UserPart

_TEXT_TYPES = {"anthropic": "text", "chat": "text", "openai": "input_text"}
_RAW = "arguments"
_BEFORE = "[The conversation before this is not at hand.]"


class Writer:
    """Writes the entries of one history for one row."""

    def __init__(self, row: ModelRow, fitting: Fitting, notes: Notes) -> None:
        self._row = row
        self._dialect = row.dialect
        self._lens = lens_of(row.dialect)
        self._rules = RULES[row.dialect]
        self._fitting = fitting
        self._notes = notes
        self._messages: list[Message] = []
        self._has_user = False

    def write(self, entries: Sequence[Entry]) -> list[Message]:
        """Return the messages. Raises ``UnsupportedPartError`` where the policy says so."""
        for entry in entries:
            self._has_user = self._has_user or entry.role == "user"
            if entry.plain is not None and not entry.calls and entry.role != "system":
                if self._rules.takes_blank_text or entry.plain["content"].strip():
                    self._messages.append(entry.plain)
            elif entry.role == "assistant":
                self._answer(entry)
            elif entry.role == "system":
                role = "system" if self._rules.takes_system else "user"
                self._messages.append({"role": role, "content": _joined(entry.parts)})
            else:
                self._user(entry.parts, entry.index)
        return self._messages

    def _user(self, parts: Sequence[Part], index: int) -> None:
        fitted = self._told([self._fitting.fit(part, index) for part in parts])
        if not fitted:
            return
        if len(fitted) == 1 and isinstance(fitted[0], TextPart):
            self._messages.append({"role": "user", "content": fitted[0].text})
            return
        field = "parts" if self._dialect == "google" else "content"
        self._messages.append({"role": "user", field: [self._native(part) for part in fitted]})

    def _told(self, parts: Sequence[Part]) -> list[Part]:
        """Return the parts without blank text, where the server refuses it or other parts stand beside it."""
        said = [part for part in parts if not isinstance(part, TextPart) or part.text.strip()]
        return said if said or not self._rules.takes_blank_text else list(parts[:1])

    def _answer(self, entry: Entry) -> None:
        parts = [self._fitting.fit(part, entry.index) for part in entry.parts]
        texts = [part.text for part in parts if isinstance(part, TextPart)]
        shown = [part for part in parts if not isinstance(part, TextPart)]
        if shown and self._rules.takes_media_in_answers:
            native = [self._native(part) for part in self._told(parts)]
            self._messages.append({"role": "model", "parts": native})
            texts, shown = [], []
        if entry.calls:
            self._round(entry, [text for text in texts if text.strip()])
        elif texts:
            self._say("\n\n".join([text for text in texts if text.strip()] or texts[:1]))
        if shown:
            self._behind(["From the answer before:"], shown)

    def _say(self, text: str) -> None:
        if self._rules.takes_blank_text or text.strip():
            self._messages.append(self._lens.assistant_message(text))

    def _round(self, entry: Entry, texts: Sequence[str]) -> None:
        if self._rules.begins_with_user and not self._has_user:
            self._messages.append({"role": "user", "content": _BEFORE})
            self._has_user = True
        names = {call: self._name(call) for call in entry.calls}
        made = _CALLS[self._dialect](texts, [(call, names[call]) for call in entry.calls])
        if self._row.joins_text_parts and made[0]["content"] is None:
            # Templates that take only strings would write a null out as a word.
            made[0]["content"] = ""
        self._messages.extend(made)
        outcomes, behind = [], []
        for call in entry.calls:
            outcome, others = self._outcome(call, names[call])
            outcomes.append(outcome)
            if others:
                behind.append((names[call], others))
        self._messages.extend(self._lens.result_messages(outcomes))
        for name, others in behind:
            self._behind([f"Result of {name}:"], others)

    def _outcome(self, call: Call, name: str) -> tuple[ToolOutcome, list[Part]]:
        """Return a call's outcome, and of it what can only stand behind the round: references, media of an error."""
        result = call.result or Result(call.index, None, None, [])
        parts = [self._fitting.fit(part, result.index) for part in result.parts]
        behind: list[Part] = [
            part
            for part in parts
            if isinstance(part, MediaReference) or (result.is_error and isinstance(part, MediaPart))
        ]
        kept = [part for part in parts if not isinstance(part, MediaReference) and part not in behind]
        content: str | tuple[UserPart, ...] = tuple(kept)
        if not any(isinstance(part, MediaPart) for part in kept):
            content = _joined(kept)
        return ToolOutcome(call.new_id, name, content, is_error=result.is_error), behind

    def _behind(self, heads: Sequence[str], parts: Sequence[Part]) -> None:
        field = "parts" if self._dialect == "google" else "content"
        native = [self._native(part) for part in (*map(TextPart, heads), *parts)]
        self._messages.append({"role": "user", field: native})

    def _name(self, call: Call) -> str:
        name = call.name or ""
        legal = legal_name(name, self._rules)
        if legal != name:
            self._notes.drop("tool_name", call.index, f"{name!r} is written {legal!r}")
        return legal

    def _native(self, part: Part) -> dict[str, Any]:
        if isinstance(part, TextPart):
            kind = _TEXT_TYPES.get(self._dialect)
            return {"text": part.text} if kind is None else {"type": kind, "text": part.text}
        if isinstance(part, MediaReference):
            return _native_reference(self._dialect, part)
        message = self._lens.user_message([part])
        block: dict[str, Any] = (message["parts"] if self._dialect == "google" else message["content"])[0]
        return block


def _joined(parts: Sequence[Part]) -> str:
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))


def _native_reference(dialect: str, part: MediaReference) -> dict[str, Any]:
    kind = kind_of(part)
    match dialect:
        case "anthropic":
            return {"type": kind, "source": {"type": "url", "url": part.uri}}
        case "openai" if kind == "image":
            return {"type": "input_image", "image_url": part.uri, "detail": "auto"}
        case "openai":
            return {"type": "input_file", "file_url": part.uri}
        case "google":
            typed = {} if part.mime_type is None else {"mime_type": part.mime_type}
            return {"file_data": {"file_uri": part.uri, **typed}}
    name = "video_url" if kind == "video" else "image_url"
    return {"type": name, name: {"url": part.uri}}


def _object(arguments: Any) -> dict[str, Any]:
    """Return a call's arguments as an object; text that is none stands in one."""
    if arguments is None or arguments == "":
        return {}
    found = arguments
    if isinstance(arguments, str):
        try:
            found = json.loads(arguments, strict=False, parse_constant=str)
        except (ValueError, RecursionError):
            return {_RAW: arguments}
    return found if isinstance(found, dict) else {_RAW: found}


def _text(arguments: Any) -> str:
    """Return a call's arguments as JSON text; text that is a JSON object already stays as it stands."""
    if isinstance(arguments, str):
        try:
            if isinstance(json.loads(arguments, parse_constant=_refuse), dict):
                return arguments
        except (ValueError, RecursionError):
            pass
    return json.dumps(_object(arguments), ensure_ascii=False)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _anthropic_calls(texts: Sequence[str], calls: Sequence[tuple[Call, str]]) -> list[Message]:
    said = [{"type": "text", "text": text} for text in texts]
    made = [
        {"type": "tool_use", "id": call.new_id, "name": name, "input": _object(call.arguments)} for call, name in calls
    ]
    return [{"role": "assistant", "content": [*said, *made]}]


def _openai_calls(texts: Sequence[str], calls: Sequence[tuple[Call, str]]) -> list[Message]:
    said: list[Message] = [{"role": "assistant", "content": text} for text in texts]
    made: list[Message] = [
        {"type": "function_call", "call_id": call.new_id, "name": name, "arguments": _text(call.arguments)}
        for call, name in calls
    ]
    return [*said, *made]


def _google_calls(texts: Sequence[str], calls: Sequence[tuple[Call, str]]) -> list[Message]:
    said = [{"text": text} for text in texts]
    made = [
        {"function_call": {"id": call.new_id, "name": name, "args": _object(call.arguments)}} for call, name in calls
    ]
    return [{"role": "model", "parts": [*said, *made]}]


def _chat_calls(texts: Sequence[str], calls: Sequence[tuple[Call, str]]) -> list[Message]:
    made = [
        {"id": call.new_id, "type": "function", "function": {"name": name, "arguments": _text(call.arguments)}}
        for call, name in calls
    ]
    return [{"role": "assistant", "content": "\n\n".join(texts) or None, "tool_calls": made}]


_CALLS = {"anthropic": _anthropic_calls, "chat": _chat_calls, "google": _google_calls, "openai": _openai_calls}
