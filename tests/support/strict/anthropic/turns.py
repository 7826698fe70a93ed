"""Anthropic turns (joined messages of one role) and the pairing of calls with results (W-A1 to W-A9)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from support.strict.rule import Found, Json, Violation, as_list, as_object, as_text


@dataclass(frozen=True)
class Placed:
    """A block and where the request holds it."""

    message: int
    index: int
    block: Json

    @property
    def kind(self) -> str:
        """The block's `type`."""
        return as_text(self.block.get("type"))

    @property
    def path(self) -> str:
        """The place as the server writes it."""
        return f"messages.{self.message}.content.{self.index}"


@dataclass(frozen=True)
class Turn:
    """Consecutive messages of one role (W-A20)."""

    role: str
    blocks: tuple[Placed, ...]
    first: int
    last: int

    def of(self, *kinds: str) -> tuple[Placed, ...]:
        """The blocks of these kinds, in order."""
        return tuple(placed for placed in self.blocks if placed.kind in kinds)

    @property
    def server_results(self) -> tuple[Placed, ...]:
        """The results of tools that the server runs."""
        return tuple(p for p in self.blocks if p.kind.endswith("_tool_result"))


def blocks_of(message: Any, number: int) -> list[Placed]:
    """Return a message's blocks; a string is one text block."""
    content = as_object(message).get("content")
    if isinstance(content, str):
        return [Placed(number, 0, {"type": "text", "text": content})]
    return [Placed(number, index, as_object(block)) for index, block in enumerate(as_list(content))]


def turns_of(messages: list[Any]) -> list[Turn]:
    """Join consecutive messages of one role."""
    numbered = enumerate(messages)
    runs = groupby(numbered, key=lambda item: as_text(as_object(item[1]).get("role")))
    turns = []
    for role, run in runs:
        placed = [(number, blocks_of(message, number)) for number, message in run]
        blocks = tuple(block for _, found in placed for block in found)
        turns.append(Turn(role, blocks, placed[0][0], placed[-1][0]))
    return turns


def is_open_round(turns: list[Turn]) -> bool:
    """Whether the request ends inside a tool round: its last turn answers calls."""
    return len(turns) > 1 and turns[-1].role == "user" and bool(turns[-1].of("tool_result"))


def check_pairing(turns: list[Turn]) -> Found:
    """W-A1 to W-A9 over joined turns."""
    for position, turn in enumerate(turns):
        if turn.role == "assistant":
            following = turns[position + 1] if position + 1 < len(turns) else None
            yield from _check_calls(turn, following)
        elif turn.role == "user":
            before = turns[position - 1] if position else None
            yield from _check_results(turn, before if before and before.role == "assistant" else None)
    yield from _check_server_tools([turn for turn in turns if turn.role == "assistant"])


def _check_calls(turn: Turn, following: Turn | None) -> Found:
    calls = turn.of("tool_use")
    if not calls:
        return
    results = following.of("tool_result") if following and following.role == "user" else ()
    answered = {placed.block.get("tool_use_id") for placed in results}
    missing = [as_text(placed.block.get("id")) for placed in calls if placed.block.get("id") not in answered]
    after_first = turn.blocks[turn.blocks.index(calls[0]) :]
    stray = [p for p in after_first if p.kind not in ("tool_use", "server_tool_use") and p not in turn.server_results]
    if missing:
        yield _unanswered("W-A1", calls[-1], missing)
    elif stray:
        # The server finds the calls unanswered although their results are there.
        yield _unanswered("W-A2", calls[-1], [as_text(placed.block.get("id")) for placed in calls])
    repeated = [name for name, times in Counter(str(p.block.get("id")) for p in calls).items() if times > 1]
    if repeated:
        # Within one turn only: an id that comes again in a later round was accepted by the real server.
        yield Violation("W-A6", calls[-1].path, f"{calls[-1].path}: `tool_use` ids must be unique")


def _unanswered(rule: str, placed: Placed, ids: list[str]) -> Violation:
    text = (
        f"messages.{placed.message}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(ids)}. Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )
    return Violation(rule, f"messages.{placed.message}", text)


def _check_results(turn: Turn, before: Turn | None) -> Found:
    results = turn.of("tool_result")
    called = {placed.block.get("id") for placed in before.of("tool_use")} if before else set()
    for placed in results:
        identifier = as_text(placed.block.get("tool_use_id"))
        if identifier not in called:
            text = (
                f"{placed.path}: unexpected `tool_use_id` found in `tool_result` blocks: {identifier}. "
                "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
            yield Violation("W-A5", placed.path, text)
        inner = as_list(placed.block.get("content"))
        if placed.block.get("is_error") and any(as_object(block).get("type") != "text" for block in inner):
            text = f"{placed.path}.tool_result: all content must be type `text` if `is_error` is true"
            yield Violation("W-A8", placed.path, text)
    for name, times in Counter(as_text(p.block.get("tool_use_id")) for p in results).items():
        if times > 1:
            text = f"each tool_use must have a single result. Found multiple `tool_result` blocks with id: {name}"
            yield Violation("W-A7", f"messages.{turn.first}", f"messages.{turn.first}: {text}")
    if results and called and turn.blocks.index(results[-1]) >= len(results):
        ids = [as_text(placed.block.get("tool_use_id")) for placed in results]
        yield _unanswered("W-A3", Placed(before.last if before else 0, 0, {}), ids)


def _check_server_tools(turns: list[Turn]) -> Found:
    """W-A4, W-A5: a server tool's call has its result after it, a result its call before it."""
    answered = {p.block.get("tool_use_id") for turn in turns for p in turn.server_results}
    called: set[object] = set()
    for turn in turns:
        for placed in turn.blocks:
            identifier = placed.block.get("id")
            if placed.kind in ("server_tool_use", "mcp_tool_use"):
                called.add(identifier)
                # A paused turn is sent back as it is, and a nested call may be answered first: the last turn is open.
                if identifier not in answered and turn is not turns[-1]:
                    yield _without_result(placed)
            elif placed.kind.endswith("_tool_result") and placed.block.get("tool_use_id") not in called:
                text = (
                    f"{placed.path}: unexpected `tool_use_id` found in `{placed.kind}` blocks: "
                    f"{placed.block.get('tool_use_id')}. Each `{placed.kind}` block must have a corresponding "
                    "`server_tool_use` block before it."
                )
                yield Violation("W-A5", placed.path, text)


def _without_result(placed: Placed) -> Violation:
    name = "mcp" if placed.kind == "mcp_tool_use" else as_text(placed.block.get("name"))
    text = (
        f"messages.{placed.message}: `{name}` tool use with id `{placed.block.get('id')}` was found without "
        f"a corresponding `{name}_tool_result` block"
    )
    return Violation("W-A4", placed.path, text)
