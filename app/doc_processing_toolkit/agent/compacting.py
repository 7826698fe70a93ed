"""Compaction inside a turn: whether the next request is too long, and the steps that make it shorter (L01)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from doc_processing_toolkit.agent.prices import context_window
from doc_processing_toolkit.agent.spending import Spending
from doc_processing_toolkit.agent.summary import summarise
from doc_processing_toolkit.agent.watch import Watch
from doc_processing_toolkit.core.errors import AgentError
from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.core.protocols import Compacted, Message, TurnRequest, TurnRun
from doc_processing_toolkit.core.times import utc_now
from doc_processing_toolkit.dialects.detect import lens_of
from doc_processing_toolkit.dialects.view import Kind, TextPart
from doc_processing_toolkit.documents.tokens import estimate_tokens
from doc_processing_toolkit.history import compaction as steps
from doc_processing_toolkit.history.compaction_archive import archive
from doc_processing_toolkit.history.compaction_config import CLEARING, SUMMARY, CompactionConfig
from doc_processing_toolkit.history.compaction_estimate import Estimate, told
from doc_processing_toolkit.history.modes import RESULT_PLACEHOLDER, without_reasoning

log = logging.getLogger(__name__)

# A server that says less than this part of the estimate counts only what it had not cached.
_LEAST_BELIEVED = 1 / 3


@dataclass(frozen=True, slots=True)
class Compacting:
    """What an agent gives its turns for compaction: the configuration, and how a turn that writes a summary begins."""

    config: CompactionConfig
    summary_turn: Callable[[TurnRequest], TurnRun]


@dataclass(slots=True)
class _Plan:
    """A compaction that is being worked out; nothing of it holds before it is complete."""

    talk: steps.Conversation
    done: list[str] = field(default_factory=list)
    cleared: int = 0


class Compactor:
    """The compactions of one turn.

    ``start`` is where the question stands among the messages sent, ``has_context`` whether its first part is context.
    """

    def __init__(
        self,
        compacting: Compacting | None,
        request: TurnRequest,
        row: ModelRow,
        instructions: str | None,
        spending: Spending,
    ) -> None:
        self.start = len(request.history)
        self.has_context = bool(request.context)
        self.gap = request.estimate_gap or estimate_tokens(instructions or "")
        self.events: list[dict[str, Any]] = []
        self._compacting = compacting
        self._request = request
        self._row = row
        self._spending = spending
        self._lens = lens_of(row.dialect)
        self._estimate = Estimate(self._lens)
        self._history = list(request.stored if request.prepare is not None else request.history)
        self._has_failed = False

    @property
    def compacted(self) -> Compacted | None:
        """What became of the history, ``None`` when it is as it was."""
        return Compacted(list(self._history), self.start, list(self.events)) if self.events else None

    def note_usage(self, sent: Sequence[Message], input_tokens: int) -> None:
        """Take down how many tokens a request really took, to know the next one's better."""
        if self._compacting is None or not input_tokens:
            return
        estimated = self._estimate.of(sent)
        if input_tokens >= estimated * _LEAST_BELIEVED:
            self.gap = input_tokens - estimated

    async def fit(self, sent: list[Message], spoken: Sequence[Message], watch: Watch) -> list[Message]:
        """Return what the next request carries: ``sent`` itself, or less when that is too long.

        A compaction that cannot be completed (no summary, no room for the archive) changes nothing; that is logged,
        and not tried again in this turn. ``spoken`` are the messages that came in inside the turn.
        """
        compacting = self._compacting
        if compacting is None or self._has_failed or not self._is_due(sent, self._history) or self._is_bound(sent):
            return sent
        talk = steps.Conversation(self._history, sent[self.start :])
        try:
            plan = await self._planned(compacting, talk, spoken, watch)
            if plan is None:
                return sent
            await self._archived(compacting.config, talk)
        except (AgentError, OSError) as error:
            watch.check()
            self._has_failed = True
            log.warning("the conversation could not be compacted and goes out as it is: %s", error)
            return sent
        return self._adopted(sent, plan)

    def _is_due(self, sent: Sequence[Message], history: Sequence[Message]) -> bool:
        """Whether a request with these messages, over this history, is one to compact."""
        config = self._config
        count = len(history) + len(sent) - self.start
        if config.trigger_messages is not None and count >= config.trigger_messages:
            return True
        return self._is_too_large(sent)

    def _is_too_large(self, sent: Sequence[Message]) -> bool:
        limit = self._config.token_limit(context_window(self._row))
        return limit is not None and self._estimate.of(sent) + self.gap >= limit

    def _is_bound(self, sent: Sequence[Message]) -> bool:
        """Whether the open tool round needs thinking that a change of what is before it would break (W-A23, W-A29)."""
        if not self._row.produces_preserved_thinking_blocks:
            return False
        return any(view.kind is Kind.REASONING for message in sent[self.start :] for view in self._lens.views(message))

    async def _planned(
        self, compacting: Compacting, talk: steps.Conversation, spoken: Sequence[Message], watch: Watch
    ) -> _Plan | None:
        config, plan = compacting.config, _Plan(talk)
        plan.talk, plan.cleared = steps.clear_results(
            talk, config.keep_recent_messages, self._lens, self._placeholder()
        )
        if plan.cleared:
            plan.done.append(CLEARING)
        if config.strategy != CLEARING and self._is_still_due(plan.talk):
            await self._cut(compacting, plan, spoken, watch)
        return plan if plan.done else None

    def _is_still_due(self, talk: steps.Conversation) -> bool:
        history, _ = self._prepared(talk.history)
        limit = self._config.trigger_messages
        if limit is not None and len(talk.messages) >= limit:
            return True
        return self._is_too_large([*history, *talk.turn])

    async def _cut(self, compacting: Compacting, plan: _Plan, spoken: Sequence[Message], watch: Watch) -> None:
        config = compacting.config
        is_summary = config.strategy == SUMMARY
        has_head = is_summary or config.sliding_window_include_truncation_notice
        window = steps.window_of(plan.talk, config.keep_recent_messages, self._lens, has_head=has_head, spoken=spoken)
        if window is None:
            return
        head = None
        if is_summary:
            text = told(window.dropped, self._lens)
            head = steps.summary_message(
                await summarise(text, self._request.run, compacting.summary_turn, self._spending, watch)
            )
        elif has_head:
            head = steps.notice(window.dropped, self._lens)
        plan.talk = steps.headed(window, head, self._lens)
        plan.done.append(config.strategy)

    async def _archived(self, config: CompactionConfig, talk: steps.Conversation) -> None:
        if config.archive_path is not None:
            run, model = self._request.run, self._row.id
            await asyncio.to_thread(archive, config.archive_path, talk.messages, run=run, model=model)

    def _adopted(self, sent: list[Message], plan: _Plan) -> list[Message]:
        history, turn = plan.talk.history, plan.talk.turn
        if self._row.produces_preserved_thinking_blocks:
            # It is bound to what stood before it, and the server refuses it now (W-A29).
            history = without_reasoning(history, self._lens)
        before = len(self._history) + len(sent) - self.start
        messages, context = self._prepared(history)
        if context:
            turn = [self._with_context(turn[0], context), *turn[1:]]
            self.has_context = True
        new = [*messages, *turn]
        self.events.append(
            {
                "run": self._request.run,
                "at": utc_now(),
                "strategy": plan.done[-1],
                "levels": list(plan.done),
                "cleared_results": plan.cleared,
                "messages_before": before,
                "messages_after": len(history) + len(turn),
                "tokens_before": max(0, self._estimate.of(sent) + self.gap),
                "tokens_after": max(0, self._estimate.of(new) + self.gap),
            }
        )
        self._history, self.start = history, len(messages)
        return new

    def _prepared(self, history: list[Message]) -> tuple[list[Message], str]:
        """Return the history as the session's mode sends it (C09)."""
        return self._request.prepare(history) if self._request.prepare is not None else (history, "")

    def _placeholder(self) -> str:
        """Return what stands in the place of a cleared result: the mode's own word where it has one (C09)."""
        return RESULT_PLACEHOLDER if self._request.hides_results else steps.CLEARED

    def _with_context(self, question: Message, context: str) -> Message:
        """Return the question as it is sent, with this text in its first part, and what the user said behind it."""
        views = self._lens.views(question)
        said = views[1:] if self.has_context else views
        if len(said) == 1 and isinstance(said[0].block, str):
            return self._lens.user_message([TextPart(context), TextPart(said[0].block)])
        return self._lens.rebuild(question, [self._lens.text_block(views[0], context), *said]) or question

    @property
    def _config(self) -> CompactionConfig:
        if self._compacting is None:
            raise RuntimeError("the agent does not compact")
        return self._compacting.config
