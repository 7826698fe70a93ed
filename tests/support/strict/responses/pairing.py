"""OpenAI item ids, reasoning items and followers, calls and outputs (W-O1 to W-O10, W-O13, W-O14)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from support.strict.responses.fields import kind_of
from support.strict.responses.models import family, has_phases
from support.strict.rule import Found, Json, Violation, as_text
from support.strict.signer import Signer, digest

PREFIXES = {
    "reasoning": "rs",
    "function_call": "fc",
    "message": "msg",
    "web_search_call": "ws",
    "custom_tool_call": "ctc",
    "code_interpreter_call": "ci",
    "tool_search_call": "tsc",
    "compaction": "cmp",
    "mcp_call": "mcp",
    "image_generation_call": "ig",
    "file_search_call": "fs",
}
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_LONGEST_CALL_ID = 64
_PAIRS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
_WRITTEN_BY_CLIENT = ("function_call_output", "custom_tool_call_output", "mcp_approval_response", "item_reference")


@dataclass
class Stored:
    """What the server keeps because `store` was not false: responses, and the items in them by id."""

    responses: dict[str, list[Json]] = field(default_factory=dict)

    def items(self) -> Mapping[str, Json]:
        """Every stored item that has an id."""
        return {item["id"]: item for items in self.responses.values() for item in items if item.get("id")}


def check_ids(items: list[Json]) -> Found:
    """W-O10, W-O13, W-O14: prefixes, characters, lengths, repeats."""
    seen: set[str] = set()
    for number, item in enumerate(items):
        place, kind, identifier = f"input[{number}]", kind_of(item), item.get("id")
        if isinstance(identifier, str) and kind != "item_reference":
            yield from _check_id(identifier, kind, f"{place}.id")
            if identifier in seen:
                text = (
                    f"Duplicate item found with id {identifier}. Remove duplicate items from your input and try again."
                )
                yield Violation("W-O10", place, text, param="input")
            seen.add(identifier)
        call_id = item.get("call_id")
        if isinstance(call_id, str) and len(call_id) > _LONGEST_CALL_ID:
            text = (
                f"Invalid '{place}.call_id': string too long. Expected a string with maximum length "
                f"{_LONGEST_CALL_ID}, but got a string with length {len(call_id)} instead."
            )
            yield Violation("W-O14", place, text, code="string_above_max_length", param=f"{place}.call_id")
        elif call_id == "":
            text = f"Invalid '{place}.call_id': empty string. Expected a string with minimum length 1."
            yield Violation("W-O14", place, text, code="empty_string", param=f"{place}.call_id")


def _check_id(identifier: str, kind: str, place: str) -> Found:
    prefix = PREFIXES.get(kind)
    if prefix and not identifier.startswith(prefix):
        text = f"Invalid '{place}': '{identifier}'. Expected an ID that begins with '{prefix}'."
        yield Violation("W-O13", place, text, code="invalid_value", param=place)
    elif not _ID.match(identifier):
        text = (
            f"Invalid '{place}': '{identifier}'. Expected an ID that contains letters, numbers, underscores, "
            "or dashes, but this value contained additional characters."
        )
        yield Violation("W-O13", place, text, code="invalid_value", param=place)


def check_calls(items: list[Json], previous: list[Json]) -> Found:
    """W-O8, W-O9, W-O10: a call has one output, an output a call before it (`previous`: the stored response's items).

    That a second output for one call is refused is not recorded; no accepted request has one.
    """
    called = {(kind_of(item), item.get("call_id")) for item in previous}
    times = Counter((kind_of(item), item.get("call_id")) for item in items)
    for number, item in enumerate(items):
        kind, call_id = kind_of(item), item.get("call_id")
        if kind in _PAIRS:
            called.add((kind, call_id))
            if (_PAIRS[kind], call_id) not in times:
                text = f"No tool output found for function call {call_id}."
                yield Violation("W-O8", f"input[{number}]", text, param="input")
        for call_kind, output_kind in _PAIRS.items():
            if kind == output_kind and (call_kind, call_id) not in called:
                text = f"No tool call found for function call output with call_id {call_id}."
                yield Violation("W-O9", f"input[{number}]", text, param="input")
        if kind in _PAIRS.values() and times[(kind, call_id)] > 1:
            times[(kind, call_id)] = 0
            text = f"Duplicate item found with call_id {call_id}. Remove duplicate items from your input and try again."
            yield Violation("W-O10", f"input[{number}]", text, param="input")


def check_followers(items: list[Json]) -> Found:
    """W-O1: a reasoning item that has its id is followed by an item that has its own."""
    for number, item in enumerate(items):
        if kind_of(item) != "reasoning" or not item.get("id"):
            continue
        follower = _follower(items, number)
        by_client = follower is not None and (
            kind_of(follower) in _WRITTEN_BY_CLIENT or follower.get("role") in ("user", "system", "developer")
        )
        if follower is None or by_client or not follower.get("id"):
            yield _without_follower(item, number)


def _follower(items: list[Json], number: int) -> Json | None:
    """The first item after this one that is no reasoning."""
    return next((items[n] for n in range(number + 1, len(items)) if kind_of(items[n]) != "reasoning"), None)


def _without_follower(item: Json, number: int) -> Violation:
    text = f"Item '{item.get('id')}' of type 'reasoning' was provided without its required following item."
    return Violation("W-O1", f"input[{number}]", text, param="input")


def check_minted(items: list[Json], signer: Signer, model: str) -> Found:
    """W-O1, W-O2: items that this server minted stand with the reasoning that they were minted with.

    X-O1: a message keeps its `phase` (docstring of openai 3.57.0: dropping it degrades quality).
    """
    present = {as_text(item.get("id")) for item in items if kind_of(item) == "reasoning"}
    for number, item in enumerate(items):
        kind, identifier = kind_of(item), as_text(item.get("id"))
        prefix = f"{PREFIXES.get(kind, '')}_"
        mark = signer.read_mark(prefix, identifier) if identifier and kind != "reasoning" else None
        if mark is not None and mark[2] != "ff":
            required = signer.mark("rs_", mark[0], int(mark[2], 16))
            if required not in present:
                text = (
                    f"Item '{identifier}' of type '{kind}' was provided without its required 'reasoning' item: "
                    f"'{required}'."
                )
                yield Violation("W-O2", f"input[{number}]", text, param="input")
        if mark is not None and kind == "message" and has_phases(model) and not item.get("phase"):
            text = "a message came back without its phase: the model answers worse"
            yield Violation("X-O1", f"input[{number}]", text, status=None)
        if kind == "reasoning":
            yield from _check_neighbour(items, number, signer)


def _check_neighbour(items: list[Json], number: int, signer: Signer) -> Found:
    """A reasoning item that was moved: what follows it was minted by another response."""
    claims = signer.open(as_text(items[number].get("encrypted_content"))) or {}
    later = _follower(items, number) or {}
    mark = signer.read_mark("call_", as_text(later.get("call_id")))
    mark = mark or signer.read_mark("msg_", as_text(later.get("id")))
    if claims and mark is not None and mark[0] != claims["r"]:
        yield _without_follower({"id": items[number].get("id") or claims["id"]}, number)


def check_encrypted(items: list[Json], signer: Signer, owner: str) -> Found:
    """W-O3, W-O4: payloads that this server did not mint, minted for someone else, or for another item."""
    for number, item in enumerate(items):
        token = item.get("encrypted_content")
        if kind_of(item) != "reasoning" or not isinstance(token, str):
            continue
        claims = signer.open(token)
        name, why = item.get("id") or "", ""
        if claims is None or claims.get("k") != "reasoning" or (name and claims["id"] != name):
            why = "Encrypted content could not be decrypted or parsed."
        elif claims["o"] != owner:
            why = "Encrypted content organization_id did not match the target organization."
        elif item.get("summary") and claims["h"] != digest(item["summary"]):
            why = "Encrypted content could not be decrypted or parsed."
        if why:
            text = f"The encrypted content for item {name or 'rs'} could not be verified. Reason: {why}"
            yield Violation("W-O3", f"input[{number}]", text, code="invalid_encrypted_content")


def unread(items: list[Json], signer: Signer, model: str) -> list[Json]:
    """Return the report on reasoning that another family minted: the server leaves it out and says so."""
    report = []
    for item in items:
        claims = signer.open(as_text(item.get("encrypted_content"))) if kind_of(item) == "reasoning" else None
        if claims is not None and family(str(claims["m"])) != family(model):
            report.append({"type": "reasoning", "action": "removed", "id": claims["id"], "reason": "model"})
    return report


def check_references(items: list[Json], stored: Stored | None, *, store: object) -> Found:
    """W-O5: an item that is named by its id only must be stored."""
    known = stored.items() if stored is not None else None
    for number, item in enumerate(items):
        kind, identifier = kind_of(item), item.get("id")
        bare = kind == "item_reference" or (
            kind == "reasoning" and bool(identifier) and not item.get("encrypted_content")
        )
        lost = store is False if known is None else identifier not in known
        if bare and lost:
            text = (
                f"Item with id '{identifier}' not found. Items are not persisted when `store` is set to false. "
                "Try again with `store` set to true, or remove this item from your input."
            )
            yield Violation("W-O5", f"input[{number}]", text, status=404, param="input")
