"""What the items of OpenAI Responses are, and which of them may not stand without which (W-O1, W-O2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.dialects.view import Kind

# Calls that the client answers, and the items that answer them.
CALLS = frozenset({"function_call", "custom_tool_call"})
RESULTS = frozenset({"function_call_output", "custom_tool_call_output"})
# Everything that OpenAI runs itself, or that only makes sense beside such an item.
PROVIDER_TOOLS = frozenset(
    {
        *("web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call"),
        *("computer_call", "computer_call_output", "local_shell_call", "local_shell_call_output"),
        *("shell_call", "shell_call_output", "apply_patch_call", "apply_patch_call_output"),
        *("mcp_call", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response"),
        *("tool_search_call", "tool_search_output", "additional_tools", "program", "program_output"),
    }
)
# Items that the server takes without an id, too (openai 3.57, response_input_item_param).
_MAY_LOSE_ID = CALLS | {
    *("message", "reasoning", "compaction", "tool_search_call", "tool_search_output"),
    *("shell_call", "shell_call_output", "apply_patch_call", "apply_patch_call_output"),
}
_WRITTEN_BY_CLIENT = RESULTS | {
    *("computer_call_output", "local_shell_call_output", "shell_call_output", "apply_patch_call_output"),
    *("mcp_approval_response", "additional_tools"),
    *("item_reference", "compaction_trigger", "configuration_update"),
}
_PLAIN_KINDS = CALLS | {"message", "reasoning"}
_OUTPUT_ONLY = frozenset({"created_by"})


def type_of(item: Message) -> str:
    """Return an item's type; an item without one is a message."""
    kind = item.get("type")
    return "message" if kind is None else str(kind)


def kind_of(item: Message) -> Kind:
    """Return what an item other than a message is. A type that nobody knows yet is ``OTHER``."""
    kind = type_of(item)
    if kind == "reasoning":
        return Kind.REASONING
    if kind in CALLS:
        return Kind.CALL
    if kind in RESULTS:
        return Kind.RESULT
    return Kind.PROVIDER_TOOL if kind in PROVIDER_TOOLS else Kind.OTHER


def is_written_by_model(item: Message) -> bool:
    """Whether an item is part of an answer, and not of what the client sends."""
    kind = type_of(item)
    if kind == "message":
        return item.get("role") == "assistant"
    return kind not in _WRITTEN_BY_CLIENT


def as_stored(output: Sequence[Message], *, keeps_payloads: bool) -> list[Message]:
    """Return an answer's items as the next request may hold them, in the order they came.

    An id is kept only together with the reasoning item that it was minted with (W-O2), a reasoning item only with a
    follower (W-O1) and, when the server keeps nothing, with its payload (W-O5). ``keeps_payloads`` says whether
    ``encrypted_content`` is stored; without it the server's own store is counted on.
    """
    items = [_cleaned(item) for item in output]
    if keeps_payloads:
        usable = [item for item in items if type_of(item) != "reasoning" or item.get("encrypted_content") is not None]
        items = mend(items, usable)
    else:
        items = [_without(item, "encrypted_content") if type_of(item) == "reasoning" else item for item in items]
    first = next((at for at, item in enumerate(items) if type_of(item) == "reasoning"), len(items))
    bare = [without_id(item) if type_of(item) in _PLAIN_KINDS else item for item in items[:first]]
    return settled([*bare, *items[first:]])


def settled(items: Sequence[Message]) -> list[Message]:
    """Return the items without what the server would refuse of their reasoning; everything else is the same object.

    A reasoning item goes when nothing of its answer follows it, and loses its id when what follows has none (W-O1);
    what was minted with one that went loses its own (W-O2).
    """
    current = list(items)
    while True:
        kept = [found for at, item in enumerate(current) if (found := _as_it_may_stand(current, at, item)) is not None]
        if len(kept) == len(current) and all(new is old for new, old in zip(kept, current, strict=True)):
            return current
        current = mend(current, kept)


def mend(before: Sequence[Message], after: Sequence[Message]) -> list[Message]:
    """Return ``after``, what a filter left of ``before``, without what cannot stand there any more.

    What was minted with a reasoning item that the filter took out loses its id; an item that the server takes only
    with its id goes, and so does reasoning that stood beside the one taken out. Everything else is the same object
    (W-O1, W-O2).
    """
    kept = {item.get("id") for item in after if type_of(item) == "reasoning"}
    orphans: set[str] = set()
    beside: list[str] = []
    is_lost = False
    for item in before:
        identifier = item.get("id")
        if type_of(item) == "reasoning":
            is_lost = (is_lost and bool(beside)) or (identifier is not None and identifier not in kept)
            beside += [identifier] if isinstance(identifier, str) else []
            continue
        orphans.update(beside if is_lost else ())
        beside = []
        if type_of(item) in RESULTS or (type_of(item) == "message" and item.get("role") != "assistant"):
            is_lost = False
        elif is_lost and isinstance(identifier, str):
            orphans.add(identifier)
    if not orphans:
        return list(after)
    return without_ids(
        [each for each in after if type_of(each) != "reasoning" or each.get("id") not in orphans], orphans
    )


def without_ids(items: Sequence[Message], ids: set[str]) -> list[Message]:
    """Return the items without these ids; those that need theirs are left out."""
    return [
        without_id(item) if item.get("id") in ids else item
        for item in items
        if item.get("id") not in ids or type_of(item) in _MAY_LOSE_ID
    ]


def without_id(item: Message) -> Message:
    """Return the item without its id; the same object where it has none or may need it."""
    return item if item.get("id") is None or type_of(item) not in _MAY_LOSE_ID else _without(item, "id")


def longest_legal(items: Sequence[Message], count: int) -> int:
    """Return ``count`` moved back over reasoning items that a cut there would leave without a follower (W-O1)."""
    end = min(count, len(items))
    while end and type_of(items[end - 1]) == "reasoning":
        end -= 1
    return end


def _as_it_may_stand(items: Sequence[Message], at: int, item: Message) -> Message | None:
    if item.get("type") != "reasoning":
        return item
    follower = next((items[n] for n in range(at + 1, len(items)) if items[n].get("type") != "reasoning"), None)
    if follower is None or not is_written_by_model(follower):
        return None
    if item.get("id") is None or follower.get("id") is not None:
        return item
    return without_id(item) if item.get("encrypted_content") is not None else None


def _cleaned(item: Mapping[str, Any]) -> Message:
    """Return an item of a response in the shape of an input item.

    Of the kinds that are known well the empty fields go, inside their parts too; all others stay as they came.
    """
    kept = {key: value for key, value in item.items() if key not in _OUTPUT_ONLY}
    if type_of(kept) not in _PLAIN_KINDS:
        return kept
    for key in ("content", "summary"):
        if isinstance(kept.get(key), list):
            kept[key] = [_filled(part) for part in kept[key]]
    return _without_empty(kept)


def _filled(part: Any) -> Any:
    return _without_empty(part) if isinstance(part, Mapping) else part


def _without_empty(fields: Mapping[str, Any]) -> Message:
    return {key: value for key, value in fields.items() if value is not None}


def _without(item: Message, key: str) -> Message:
    return {name: value for name, value in item.items() if name != key}
