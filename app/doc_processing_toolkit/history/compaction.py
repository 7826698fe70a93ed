"""Making a conversation smaller, over block views: old tool results cleared, old messages left out (L01)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from doc_processing_toolkit.core.protocols import Message
from doc_processing_toolkit.dialects.view import BlockView, Kind, Lens, MendingLens, TextPart

CLEARED = "[an old tool result, cleared to save room]"
_NOTICE = "[{count} earlier messages of this conversation were left out to save room]"
_NOTICE_FORM = re.compile(r"\[(\d+) earlier messages of this conversation were left out to save room\]")
_SUMMARY_HEAD = "[Summary of the earlier conversation, which was left out to save room]"


@dataclass(frozen=True, slots=True)
class Conversation:
    """The stored history, and the running turn from its question on."""

    history: list[Message]
    turn: list[Message]

    @property
    def messages(self) -> list[Message]:
        """Everything in order."""
        return [*self.history, *self.turn]


@dataclass(frozen=True, slots=True)
class Window:
    """What a cut leaves out, and the conversation that it leaves, still without a word in the place of the rest."""

    dropped: list[Message]
    system: list[Message]
    kept: Conversation


def clear_results(talk: Conversation, keep: int, lens: Lens, placeholder: str = CLEARED) -> tuple[Conversation, int]:
    """Return the conversation with the tool results before the last ``keep`` messages cleared, and how many were.

    Call and result stay where they are. A result that is no longer than the placeholder, and holds no media, stays.
    """
    messages = talk.messages
    end = _whole(_cuts(messages, lens), max(0, len(messages) - keep))
    cleared = 0
    changed = list(messages)
    for index in range(end):
        views = lens.views(messages[index])
        kept = [_cleared(view, messages[index], lens, placeholder) for view in views]
        count = sum(new is not old for new, old in zip(kept, views, strict=True))
        if count:
            changed[index] = lens.rebuild(messages[index], kept) or messages[index]
            cleared += count
    if not cleared:
        return talk, 0
    return _parted(changed, len(talk.history)), cleared


def window_of(
    talk: Conversation, keep: int, lens: Lens, *, has_head: bool, spoken: Sequence[Message] = ()
) -> Window | None:
    """Return the conversation without what stands before its last ``keep`` messages, ``None`` when nothing goes.

    No tool round is split, and what is kept of the history begins with a question of the user's, or where that would
    keep everything, and ``has_head`` says that a message will stand before it, with a whole answer. System messages at
    the beginning stay, and of the running turn its question and the ``spoken`` messages, those that came in on the way.
    """
    messages, asked = talk.messages, len(talk.history)
    first = _system_count(talk.history, lens)
    cuts = _cuts(messages, lens)
    wanted = max(first, _whole(cuts, max(first, len(messages) - keep)))
    if wanted > asked:
        stays = [index == 0 or any(message is said for said in spoken) for index, message in enumerate(talk.turn)]
        early = list(zip(talk.turn, stays, strict=True))[: wanted - asked]
        dropped = [*talk.history[first:], *(message for message, is_kept in early if not is_kept)]
        kept = Conversation([], [*(message for message, is_kept in early if is_kept), *messages[wanted:]])
    else:
        start = wanted
        while start > first and not (start == asked or (cuts[start] and _is_said(messages[start], lens))):
            start -= 1
        start = wanted if start <= first and has_head else start
        dropped = talk.history[first:start]
        kept = Conversation(_mended(talk.history, talk.history[start:], lens), talk.turn)
    if all(_is_stand_in(message, lens) for message in dropped):
        return None
    return Window(dropped, talk.history[:first], kept)


def headed(window: Window, head: str | None, lens: Lens) -> Conversation:
    """Return the cut conversation with a message of the user's side that says what stood there."""
    before = [] if head is None else [lens.user_message([TextPart(head)])]
    return Conversation([*window.system, *before, *window.kept.history], window.kept.turn)


def notice(dropped: Sequence[Message], lens: Lens) -> str:
    """Return the sentence that stands for messages that were left out, those of earlier notices counted in."""
    return _NOTICE.format(count=sum(notice_count(message, lens) or 1 for message in dropped))


def notice_count(message: Message, lens: Lens) -> int:
    """Return how many messages a notice stands for, 0 when the message is none."""
    found = _NOTICE_FORM.fullmatch(_only_text(message, lens))
    return int(found[1]) if found else 0


def summary_message(summary: str) -> str:
    """Return a summary as it stands in the history."""
    return f"{_SUMMARY_HEAD}\n\n{summary}"


def text_of(view: BlockView) -> str:
    """Return what a text block says."""
    if isinstance(view.block, str):
        return view.block
    fields = view.block if isinstance(view.block, dict) else {}
    return next((fields[name] for name in ("text", "refusal") if isinstance(fields.get(name), str)), "")


def _only_text(message: Message, lens: Lens) -> str:
    """Return the text of a user message that is nothing else, ``""`` for any other."""
    views = lens.views(message)
    is_plain = len(views) == 1 and views[0].kind is Kind.TEXT and lens.role(message) == "user"
    return text_of(views[0]) if is_plain else ""


def _is_stand_in(message: Message, lens: Lens) -> bool:
    """Whether a message only stands for what an earlier compaction left out."""
    return bool(notice_count(message, lens)) or _only_text(message, lens).startswith(_SUMMARY_HEAD)


def _cleared(view: BlockView, message: Message, lens: Lens, placeholder: str) -> BlockView:
    if view.kind is not Kind.RESULT:
        return view
    depth = len(view.path)
    has_media = any(media.path[:depth] == view.path for media in lens.media_views(message))
    if not has_media and len(lens.result_text(view)) <= len(placeholder):
        return view
    return lens.with_result(view, placeholder)


def _parted(messages: list[Message], at: int) -> Conversation:
    return Conversation(messages[:at], messages[at:])


def _mended(before: Sequence[Message], after: list[Message], lens: Lens) -> list[Message]:
    return lens.mend(before, after) if isinstance(lens, MendingLens) else after


def _system_count(messages: Sequence[Message], lens: Lens) -> int:
    count = 0
    while count < len(messages) and lens.role(messages[count]) == "system":
        count += 1
    return count


def _kinds(message: Message, lens: Lens) -> set[Kind]:
    return {view.kind for view in lens.views(message)}


def _is_said(message: Message, lens: Lens) -> bool:
    """Whether a message is the user's own, and does not answer calls."""
    return lens.role(message) == "user" and Kind.RESULT not in _kinds(message, lens)


def _cuts(messages: Sequence[Message], lens: Lens) -> list[bool]:
    """Return at which indices a cut splits neither an answer nor a tool round; the two ends are always such."""
    allowed = [True] * (len(messages) + 1)
    asked: dict[str, int] = {}
    was_answer = False
    for index, message in enumerate(messages):
        is_answer = lens.role(message) == "assistant"
        views = lens.views(message)
        is_result = lens.role(message) == "tool" or any(view.kind is Kind.RESULT for view in views)
        allowed[index] = not (is_answer and was_answer) and (is_answer or not is_result)
        for view in views:
            if view.call_id is None:
                continue
            if view.kind is Kind.CALL:
                asked[view.call_id] = index
            elif view.kind is Kind.RESULT and view.call_id in asked:
                start = asked.pop(view.call_id)
                allowed[start + 1 : index + 1] = [False] * (index - start)
        was_answer = is_answer
    allowed[0] = allowed[-1] = True
    return allowed


def _whole(cuts: Sequence[bool], index: int) -> int:
    """Return the cut moved back to where it splits nothing."""
    while not cuts[index]:
        index -= 1
    return index
