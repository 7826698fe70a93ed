"""Gemini contents: fields in either spelling, parts, joined turns (W-G5, W-G7, W-G8, W-G11, W-G20, W-G21)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from support.strict.rule import Found, Json, Violation, as_list, as_object, as_text, words

TOP = words(
    "cachedContent contents generationConfig labels model safetySettings serviceTier store systemInstruction "
    "toolConfig tools"
)
CONFIG = words(
    "audioTimestamp audioTranscriptionConfig candidateCount enableAffectiveDialog enableEnhancedCivicAnswers "
    "frequencyPenalty imageConfig logprobs maxOutputTokens mediaResolution modelSelectionConfig presencePenalty "
    "responseJsonSchema responseLogprobs responseMimeType responseModalities responseSchema routingConfig seed "
    "speechConfig stopSequences temperature thinkingConfig topK topP continuationToken translationConfig"
)
_DATA = words(
    "codeExecutionResult executableCode fileData functionCall functionResponse inlineData text toolCall toolResponse"
)
# A part with only one of these was accepted by the real server.
_ENOUGH = words("thoughtSignature videoMetadata")
PART = (
    _DATA
    | _ENOUGH
    | words(
        "audioMetadata audioTranscription documentMetadata mediaProcessing mediaResolution partMetadata speechMetadata "
        "spreadsheetMetadata thought"
    )
)
_INNER = {
    "functionCall": words("args id name partialArgs willContinue"),
    "functionResponse": words("id name parts response scheduling willContinue"),
    "inlineData": words("data displayName mimeType"),
    "fileData": words("displayName fileUri mimeType"),
    "thinkingConfig": words("includeThoughts thinkingBudget thinkingLevel"),
}
_UNDERSCORE = re.compile(r"_([a-z])")


def camel(name: str) -> str:
    """Return a field name in the API's spelling; the JSON parser takes snake_case too."""
    return _UNDERSCORE.sub(lambda match: match[1].upper(), name)


def spelled(value: Any) -> Json:
    """Return an object with its own field names in the API's spelling (one level), nulls left out."""
    return {camel(name): inner for name, inner in as_object(value).items() if inner is not None}


@dataclass(frozen=True)
class Placed:
    """A part, in the API's spelling, and where the request holds it."""

    content: int
    index: int
    part: Json

    @property
    def path(self) -> str:
        """The place as the server writes it."""
        return f"contents[{self.content}].parts[{self.index}]"

    @property
    def call(self) -> Json | None:
        """The function call, if the part is one."""
        return spelled(self.part["functionCall"]) if "functionCall" in self.part else None

    @property
    def response(self) -> Json | None:
        """The function response, if the part is one."""
        return spelled(self.part["functionResponse"]) if "functionResponse" in self.part else None


@dataclass(frozen=True)
class Turn:
    """Adjacent contents of one role, joined (W-C19)."""

    role: str
    parts: tuple[Placed, ...]

    @property
    def calls(self) -> tuple[Placed, ...]:
        """The parts that are function calls."""
        return tuple(placed for placed in self.parts if placed.call is not None)

    @property
    def responses(self) -> tuple[Placed, ...]:
        """The parts that are function responses."""
        return tuple(placed for placed in self.parts if placed.response is not None)


def turns_of(contents: list[Any]) -> list[Turn]:
    """Join adjacent contents of one role; the legacy role "function" counts as user, a missing role too.

    Contents of one role are not joined where function responses meet other parts: a user text right after the
    responses is a turn of its own.
    """
    joined: list[tuple[str, bool, list[Placed]]] = []
    for number, content in enumerate(contents):
        role = as_text(as_object(content).get("role")) or "user"
        role = "user" if role == "function" else role
        given = as_list(as_object(content).get("parts"))
        parts = [Placed(number, index, spelled(part)) for index, part in enumerate(given)]
        answers = any(placed.response is not None for placed in parts)
        if joined and joined[-1][:2] == (role, answers):
            joined[-1][2].extend(parts)
        else:
            joined.append((role, answers, parts))
    return [Turn(role, tuple(parts)) for role, _, parts in joined]


def unknown(name: str, place: str) -> Violation:
    """W-G21: the refusal of a field that the API does not have."""
    at = f" at '{place}'" if place else ""
    text = f'Invalid JSON payload received. Unknown name "{name}"{at}: Cannot find field.'
    detail = {
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        "fieldViolations": [{"field": place, "description": text}],
    }
    return Violation("W-G21", f"{place}.{name}" if place else name, text, details=(detail,))


def check_top(body: Json) -> Found:
    """W-G8, W-G21: top-level fields and those of the generation config."""
    yield from (unknown(name, "") for name in sorted(body) if camel(name) not in TOP)
    config = as_object(body.get("generationConfig") or body.get("generation_config"))
    yield from (unknown(name, "generation_config") for name in sorted(config) if camel(name) not in CONFIG)
    thinking = as_object(spelled(config).get("thinkingConfig"))
    place = "generation_config.thinking_config"
    yield from (unknown(name, place) for name in sorted(thinking) if camel(name) not in _INNER["thinkingConfig"])
    if not as_list(body.get("contents")):
        text = "* GenerateContentRequest.contents: contents is not specified\n"
        yield Violation("W-G8", "contents", text)


def check_contents(contents: list[Any]) -> Found:
    """W-G7, W-G20, W-G21: roles, fields and parts of every content."""
    for number, content in enumerate(contents):
        place = f"contents[{number}]"
        if not isinstance(content, dict):
            text = f"Invalid value at '{place}' (type.googleapis.com/google.ai.generativelanguage.v1beta.Content)"
            yield Violation("W-G21", place, text)
            continue
        yield from (unknown(name, place) for name in sorted(set(content) - {"role", "parts"}))
        if content.get("role") not in ("user", "model", "function", None):
            yield Violation("W-G7", place, "Please use a valid role: user, model.")
        parts = content.get("parts")
        if not isinstance(parts, list) or not parts:
            yield _no_data(f"GenerateContentRequest.{place}.parts", "contents.parts must not be empty.")
        for index, part in enumerate(as_list(parts)):
            yield from check_part(part, f"{place}.parts[{index}]")


def check_part(part: Any, place: str) -> Found:
    """W-G20, W-G21: one part carries data, and only fields that exist."""
    fields = spelled(part)
    yield from (unknown(name, place) for name in sorted(as_object(part)) if camel(name) not in PART)
    if not (_DATA | _ENOUGH) & set(fields):
        yield _no_data(
            f"GenerateContentRequest.{place}.data", "required oneof field 'data' must have one initialized field"
        )
    if len(_DATA & set(fields)) > 1:
        text = f"Invalid value at '{place}' (oneof), oneof field 'data' is already set."
        yield Violation("W-G20", place, text)
    for name, allowed in _INNER.items():
        inner = fields.get(name)
        yield from (unknown(key, f"{place}.{name}") for key in sorted(as_object(inner)) if camel(key) not in allowed)


def _no_data(place: str, text: str) -> Violation:
    return Violation("W-G20", place, f"* {place}: {text}\n")


def check_system(system: Any) -> Found:
    """W-G8, W-G20 for the system instruction, which is a content of its own."""
    if system is None:
        return
    for index, part in enumerate(as_list(as_object(system).get("parts"))):
        yield from check_part(part, f"system_instruction.parts[{index}]")
