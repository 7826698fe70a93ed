"""The history modes: what is taken out when a turn is stored, and what is left out of each request (C01–C14)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.dialects.view import BlockView, Kind, Lens, MendingLens
from doc_processing_toolkit.history.config import HistoryConfig

RESULT_PLACEHOLDER = "[tool result left out]"
_SUMMARY_HEAD = "The conversation so far:"
_SUMMARY_TAIL = "The next message:"

Change = Callable[[BlockView, Lens, HistoryConfig], BlockView | None]


def _drop(view: BlockView, lens: Lens, config: HistoryConfig) -> None:
    return None


def _placeholder(view: BlockView, lens: Lens, config: HistoryConfig) -> BlockView:
    if lens.result_text(view) == RESULT_PLACEHOLDER:
        return view
    return lens.with_result(view, RESULT_PLACEHOLDER)


def _compact(view: BlockView, lens: Lens, config: HistoryConfig) -> BlockView:
    text, limit = lens.result_text(view), config.compact_tool_results_max_chars
    if len(text) <= limit:
        return view
    return lens.with_result(view, f"{text[:limit]}… [{len(text) - limit:,} characters left out]")


_REASONING_GOES: Mapping[Kind, Change] = {Kind.REASONING: _drop}
# What goes for good when a turn is stored (C13).
_WHEN_STORED: Mapping[str, Mapping[Kind, Change]] = {
    "messages_only": _REASONING_GOES,
    "no_reasoning": _REASONING_GOES,
}
# What is left out of each request.
_WHEN_SENT: Mapping[str, Mapping[Kind, Change]] = {
    "messages_only": {
        Kind.REASONING: _drop,
        Kind.CALL: _drop,
        Kind.RESULT: _drop,
        Kind.PROVIDER_TOOL: _drop,
    },
    "no_tool_results": {Kind.RESULT: _placeholder},
    "no_reasoning": _REASONING_GOES,
    "compact_tool_results": {Kind.RESULT: _compact},
}


@dataclass(frozen=True, slots=True)
class Prepared:
    """A history that is ready to be sent; ``context`` is text that goes before the question."""

    messages: list[Message]
    context: str = ""


def prepare(
    messages: Sequence[Message], config: HistoryConfig, lens: Lens, *, binds_reasoning: bool = False
) -> Prepared:
    """Return what a request carries of the history, by the mode; messages that do not change are the same objects.

    ``binds_reasoning`` says that the server refuses reasoning when anything before it has changed (W-A29): behind the
    first result that the mode changes none is sent then.
    """
    if config.mode == "text_summary":
        return Prepared([], flatten(messages, lens))
    kept = _filtered(messages, _WHEN_SENT.get(config.mode), config, lens)
    if binds_reasoning and Kind.RESULT in _WHEN_SENT.get(config.mode, ()):
        kept = _unbound(messages, kept, lens)
    return Prepared(kept)


def stored(turn: Sequence[Message], config: HistoryConfig, lens: Lens) -> list[Message]:
    """Return a turn's messages as the mode stores them."""
    return _filtered(turn, _WHEN_STORED.get(config.mode), config, lens)


def flatten(messages: Sequence[Message], lens: Lens) -> str:
    """Return a history as text, questions and answers only; ``""`` for an empty one."""
    lines = []
    for message in messages:
        role = lens.role(message)
        texts = [_text(view) for view in lens.views(message) if view.kind in (Kind.TEXT, Kind.MEDIA)]
        said = "\n\n".join(text for text in texts if text)
        if said and role in ("user", "assistant"):
            lines.append(f"{role.capitalize()}: {said}")
    return "\n\n".join([_SUMMARY_HEAD, *lines, _SUMMARY_TAIL]) if lines else ""


def without_reasoning(messages: Sequence[Message], lens: Lens) -> list[Message]:
    """Return the messages without reasoning."""
    rebuilt = (
        lens.rebuild(message, [view for view in lens.views(message) if view.kind is not Kind.REASONING])
        for message in messages
    )
    kept = [message for message in rebuilt if message is not None]
    return lens.mend(messages, kept) if isinstance(lens, MendingLens) else kept


def open_round_start(messages: Sequence[Message], lens: Lens) -> int | None:
    """Return where the tool round begins that the history ends in, ``None`` when it does not end in one."""
    for index in range(len(messages) - 1, -1, -1):
        kinds = {view.kind for view in lens.views(messages[index])}
        if Kind.CALL in kinds:
            return _answer_start(messages, index, lens)
        if Kind.RESULT not in kinds:
            return None
    return None


def _unbound(before: Sequence[Message], after: Sequence[Message], lens: Lens) -> list[Message]:
    """Return ``after`` without the reasoning behind the first message that is not the one before the filter."""
    same = 0
    while same < min(len(before), len(after)) and before[same] is after[same]:
        same += 1
    if same == len(before) == len(after):
        return list(after)
    return [*after[:same], *without_reasoning(after[same:], lens)]


def _answer_start(messages: Sequence[Message], index: int, lens: Lens) -> int:
    """Return where the answer begins that the message at ``index`` is part of; one may be several messages."""
    while index and lens.role(messages[index - 1]) == "assistant":
        index -= 1
    return index


def _filtered(
    messages: Sequence[Message], rules: Mapping[Kind, Change] | None, config: HistoryConfig, lens: Lens
) -> list[Message]:
    if rules is None:
        return list(messages)
    end = len(messages)
    if config.mode == "no_reasoning":
        # The providers refuse a changed or missing reasoning in a round that is still open (W-A23, W-F7).
        start = open_round_start(messages, lens)
        end = end if start is None else start
    changed = (_changed(message, rules, config, lens) for message in messages[:end])
    kept = [*(message for message in changed if message is not None), *messages[end:]]
    return lens.mend(messages, kept) if isinstance(lens, MendingLens) else kept


def _changed(message: Message, rules: Mapping[Kind, Change], config: HistoryConfig, lens: Lens) -> Message | None:
    views = lens.views(message)
    kept = []
    for view in views:
        change = rules.get(view.kind)
        new = view if change is None else change(view, lens, config)
        if new is not None:
            kept.append(new)
    return lens.rebuild(message, kept)


def _text(view: BlockView) -> str:
    if isinstance(view.block, str):
        return view.block
    text = view.block.get("text") if isinstance(view.block, dict) else None
    return text if isinstance(text, str) else f"[{view.kind.value}]"
