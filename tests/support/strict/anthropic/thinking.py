"""Anthropic thinking blocks: signatures, the latest assistant turn, preserved thinking (W-A23 to W-A34)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import groupby

from support.strict.anthropic.binding import THINKING, Bound, block_id, bound_blocks, token_of
from support.strict.anthropic.models import Traits, reads
from support.strict.anthropic.turns import Placed, Turn, is_open_round
from support.strict.rule import Found, Json, Violation, as_object, as_text
from support.strict.signer import Signer, digest

_CHECK_WITHOUT_THINKING = ("claude-sonnet-5-5", "claude-haiku-5-5")
_BOUND_ELSEWHERE = (
    "The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)
_LATEST = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
    "These blocks must remain as they were in the original response."
)
_MUST_START = (
    "Expected `thinking` or `redacted_thinking`, but found `{kind}`. When `thinking` is enabled, a final `assistant` "
    "message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). "
    "We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. "
    "Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
)


@dataclass
class Inspection:
    """What the thinking of a request amounts to: refusals, and the blocks that the server drops silently (W-A33)."""

    violations: list[Violation] = field(default_factory=list)
    transformations: list[Json] = field(default_factory=list)
    visible: list[Placed] = field(default_factory=list)
    """The blocks that the served model reads, in order."""


def check_shape(body: Json, turns: list[Turn], traits: Traits) -> Found:
    """W-A24, W-A25, W-A26 (a missing signature): what can be said without knowing who minted the signatures.

    X-A5: with thinking off, the two models that check the prefix all the same are sent no thinking.
    """
    kind = as_object(body.get("thinking")).get("type")
    for turn in turns:
        for placed in turn.of(*THINKING):
            if not token_of(placed):
                yield _invalid(placed)
    if kind == "disabled" and traits.model in _CHECK_WITHOUT_THINKING:
        for turn in turns:
            for placed in turn.of(*THINKING):
                text = f"{placed.path}: thinking is sent although it is off, and the model checks its prefix"
                yield Violation("X-A5", placed.path, text, status=None)
    if kind == "enabled" and is_open_round(turns):
        yield from _check_start(turns)
    if kind == "disabled" and turns and turns[-1].role == "assistant" and turns[-1].of(*THINKING):
        place = turns[-1].of(*THINKING)[0].path
        text = "When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`."
        yield Violation("W-A25", place, f"{place}: {text}")


def _check_start(turns: list[Turn]) -> Found:
    # Only the open loop is looked at: it begins after the last user turn that is more than tool results.
    loop: list[Turn] = []
    for turn in reversed(turns[:-1]):
        if turn.role == "user" and not turn.of("tool_result"):
            break
        loop += [turn] if turn.role == "assistant" else []
    starts = [turn.blocks[0] for turn in (loop[0], loop[-1]) if turn.blocks] if loop else []
    if starts and not any(placed.kind in THINKING for placed in starts):
        place = starts[0].path
        yield Violation("W-A24", f"{place}.type", f"{place}.type: {_MUST_START.format(kind=starts[0].kind)}")


def inspect(body: Json, turns: list[Turn], traits: Traits, signer: Signer, owner: str) -> Inspection:
    """Check every thinking block against what this signer minted."""
    result = Inspection()
    blocks = bound_blocks(body, turns, signer)
    latest = max((number for number, turn in enumerate(turns) if turn.role == "assistant"), default=-1)
    readable = [bound for bound in blocks if not _drop_unreadable(bound, traits, owner, result)]
    for bound in readable:
        _check_text(bound, bound.turn == latest, result)
    _check_prefix(body, readable, traits, result)
    for number, own in groupby(blocks, key=lambda bound: bound.turn):
        if turns[number].role == "assistant":
            result.violations += _check_places(turns[number], list(own), signer, latest=number == latest)
    return result


def _drop_unreadable(bound: Bound, traits: Traits, owner: str, result: Inspection) -> bool:
    """W-A26 for a foreign signature, W-A33 for another organisation or a model that cannot read the block."""
    if bound.claims is None:
        result.violations.append(_invalid(bound.placed))
        return True
    if bound.claims["p"] and bound.claims["o"] != owner:
        result.transformations.append(_dropped(bound.placed, "organization_binding_mismatch"))
        return True
    if not reads(traits.model, as_text(bound.claims["m"])):
        result.transformations.append(_dropped(bound.placed, "model_binding_mismatch"))
        return True
    return False


def _check_text(bound: Bound, in_latest: bool, result: Inspection) -> None:
    claims = as_object(bound.claims)
    text = as_text(bound.placed.block.get("thinking"))
    if bound.placed.kind == "thinking" and claims.get("h") != digest(text):
        if in_latest:
            result.violations.append(_modified(bound.placed))
        else:
            result.violations.append(_invalid(bound.placed))


def _check_prefix(body: Json, readable: list[Bound], traits: Traits, result: Inspection) -> None:
    """W-A29 to W-A31: a block holds while the conversation before it, and the thinking block before it, are the same.

    A leading run may be missing, so the link of the first block is free. Whatever followed a broken block when it was
    minted breaks with it.
    """
    behaviour = as_object(as_object(body.get("thinking")).get("block_binding")).get("prefix_mismatch_behavior")
    before = ""
    for bound in readable:
        claims = as_object(bound.claims)
        moved = claims["p"] != bound.prefix or before not in ("", claims["l"])
        if not (traits.preserved and claims["p"] and moved):
            before = block_id(token_of(bound.placed))
            result.visible.append(bound.placed)
        elif behaviour == "drop_block":
            result.transformations.append(_dropped(bound.placed, "prefix_binding_mismatch"))
        else:
            place = bound.placed.path
            text = f"{place}: Invalid `signature` in `thinking` block. {_BOUND_ELSEWHERE}"
            bound_to = {"response": claims["r"]}
            result.violations.append(Violation("W-A29", place, text, details=(bound_to,)))


def _check_places(turn: Turn, own: list[Bound], signer: Signer, *, latest: bool) -> Found:
    """W-A23, W-A26: blocks of one response stay in order and complete, and with the calls of that response."""
    seen: dict[str, list[int]] = {}
    for bound in own:
        if bound.claims is not None:
            seen.setdefault(as_text(bound.claims["r"]), []).append(int(bound.claims["i"]))
    for response, indexes in seen.items():
        block = next(b for b in own if b.claims is not None and b.claims["r"] == response)
        total = int(as_object(block.claims)["n"])
        if indexes != sorted(set(indexes)) or (latest and indexes != list(range(total))):
            yield _modified(block.placed) if latest else _invalid(block.placed)
    minters = _minters(turn, signer)
    for bound in own:
        moved = bound.claims is not None and minters and bound.claims["r"] not in minters
        if moved and _before_call(turn, bound.placed):
            yield _modified(bound.placed) if latest else _invalid(bound.placed)


def _minters(turn: Turn, signer: Signer) -> dict[str, int]:
    """The responses that minted the turn's calls, with how many thinking blocks each had."""
    marks = [signer.read_mark("toolu_", as_text(p.block.get("id"))) for p in turn.of("tool_use")]
    return {mark[0]: int(mark[2], 16) for mark in marks if mark is not None}


def _before_call(turn: Turn, placed: Placed) -> bool:
    # A turn may hold several joined answers; a block belongs to the calls after it in its own message.
    return any(p.message == placed.message and p.index > placed.index for p in turn.of("tool_use"))


def check_complete(body: Json, turns: list[Turn], signer: Signer, released: Collection[str]) -> Found:
    """W-A23: an open round keeps the thinking that its calls were answered with, while thinking is on."""
    if not is_open_round(turns) or as_object(body.get("thinking")).get("type") in (None, "disabled"):
        return
    turn = turns[-2]
    opened = [signer.open(token_of(placed)) or {} for placed in turn.of(*THINKING)]
    present = {claims.get("r") for claims in opened}
    for response, count in _minters(turn, signer).items():
        if count and response not in present and response not in released:
            yield _modified(turn.blocks[0])


def _invalid(placed: Placed) -> Violation:
    token = "`signature` in `thinking`" if placed.kind == "thinking" else "`data` in `redacted_thinking`"
    return Violation("W-A26", placed.path, f"{placed.path}: Invalid {token} block")


def _modified(placed: Placed) -> Violation:
    return Violation("W-A23", placed.path, f"{placed.path}: {_LATEST}")


def _dropped(placed: Placed, reason: str) -> Json:
    return {"type": "thinking_dropped", "path": placed.path, "reason": reason}
