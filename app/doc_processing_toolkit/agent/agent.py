"""The agent: a model with instructions, tools and settings, that answers a question or opens a session."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from typing import Any

from doc_processing_toolkit.agent import config
from doc_processing_toolkit.agent.compacting import Compacting
from doc_processing_toolkit.agent.handle import RunHandle
from doc_processing_toolkit.agent.hooks import Hooks
from doc_processing_toolkit.agent.loop import Means, Turn
from doc_processing_toolkit.agent.settings import DEFAULT_INLINE_BYTES, AgentSettings, settings_from
from doc_processing_toolkit.agent.summary import INSTRUCTIONS
from doc_processing_toolkit.agent.tools import Tool, toolset
from doc_processing_toolkit.agent.truncation import IN_FINGERPRINT, READ_ON, offers_reading_on, reading_tool
from doc_processing_toolkit.core.aio import Closing, EventStream
from doc_processing_toolkit.core.errors import ToolError
from doc_processing_toolkit.core.events import Complete, Event
from doc_processing_toolkit.core.kept_results import KeptResults
from doc_processing_toolkit.core.model_row import ModelRow
from doc_processing_toolkit.core.protocols import MediaStore, TurnRequest
from doc_processing_toolkit.core.result import AgentResult
from doc_processing_toolkit.envelope.fingerprint import fingerprint
from doc_processing_toolkit.history.compaction_config import compaction_config
from doc_processing_toolkit.media.store import store_from
from doc_processing_toolkit.providers.base import Access, Adapter, make_adapter
from doc_processing_toolkit.registry import find
from doc_processing_toolkit.session.session import AgentSession
from doc_processing_toolkit.session.turn import checked_question


class Agent:
    """A model, told what it is for. One agent may serve many sessions, from any event loop.

    ``model`` is a registry row's id, or ``provider/id``. Raises ``ValueError`` that names the close matches for an
    unknown model, ``ValueError`` or ``TypeError`` for a setting that cannot be, ``ToolError`` for an unusable tool,
    and ``NotSupportedError`` for what this version does not do yet. A missing key or a server that is not there is
    found out at the first request.

    ``tool_choice`` is ``"auto"``, ``"none"``, ``"required"`` or a tool's name, whatever the provider calls it; a forced
    call is asked for in a turn's first request only, or no turn would end. ``parallel_tool_calls=False`` lets the model
    call one tool at a time. ``thinking``, ``effort``, ``temperature`` and ``max_output_tokens`` go to rows that take
    them; what a row does not take is left out, with one warning.
    """

    def __init__(
        self,
        model: str,
        *,
        instructions: str | None = None,
        tools: Iterable[Any] = (),
        api_key: str | None = None,
        base_url: str | None = None,
        session_history_config: Mapping[str, Any] | None = None,
        compaction: bool = False,
        compaction_config: Mapping[str, Any] | None = None,
        media_policy: str = "auto",
        media_store: MediaStore | str | os.PathLike[str] | None = None,
        media_max_inline_bytes: int | None = DEFAULT_INLINE_BYTES,
        on_unsupported_part: str = "placeholder",
        max_tool_result_chars: int | None = None,
        truncated_result_read_chars: int | None = None,
        tool_choice: str | None = None,
        parallel_tool_calls: bool = True,
        max_iterations: int = 32,
        max_output_tokens: int | None = None,
        temperature: float | None = None,
        thinking: bool | int | None = None,
        effort: str | None = None,
        max_retries: int = 3,
        timeout: float = 600.0,
        hooks: Hooks | None = None,
        mcp_servers: Sequence[Any] = (),
        strict_prefix_binding: bool = False,
        prefix_strip_fallback: bool = False,
        anthropic_block_binding: str | None = None,
        reuse_anthropic_container: bool = False,
        stream_history: str = "light",
    ) -> None:
        given = dict(locals())
        self.row: ModelRow = self._find_row(model, base_url)
        self.settings = settings_from(given)
        self.tools: dict[str, Tool] = toolset(tools)
        if READ_ON in self.tools and self.settings.truncated_result_read_chars is not None:
            raise ToolError(f"{READ_ON!r} is the name of the built-in tool; give your own another name")
        self._sent = self.settings.sent_with(self.row, tuple(self.tools))
        self._compacting = self._compaction()
        self.media_store = store_from(media_store)
        self.access = Access(base_url, api_key)
        self.access.check()
        self.last_abandoned_stream: AgentResult | None = None
        self._adapter: Adapter | None = None
        self._run_handle: RunHandle | None = None

    def __repr__(self) -> str:
        return f"Agent({self.row.id!r})"

    @property
    def model(self) -> str:
        """The id of the model's row."""
        return self.row.id

    @property
    def provider(self) -> str:
        """The provider of the model's row."""
        return self.row.provider

    @property
    def run_handle(self) -> RunHandle | None:
        """The handle of the latest run, ``None`` before the first."""
        return self._run_handle

    async def run(self, prompt: str, *, files: Iterable[Any] = (), output_schema: Any = None) -> AgentResult:
        """Answer one question without a session.

        Raises ``DocumentError`` for a file that cannot be used and ``ProviderError`` for what sending again cannot
        mend; an error of the server comes back as a result with ``error`` set.
        """
        request = TurnRequest(*checked_question(prompt, files), output_schema=output_schema)
        async with contextlib.aclosing(self.start_turn(request).events()) as events:
            async for event in events:
                if isinstance(event, Complete):
                    return event.result
        raise RuntimeError("a turn ended without its last event")

    def stream(self, prompt: str, *, files: Iterable[Any] = (), output_schema: Any = None) -> EventStream[Event]:
        """Answer one question without a session, as a stream of events; the last one is ``complete``."""
        request = TurnRequest(*checked_question(prompt, files), output_schema=output_schema, is_streamed=True)
        closing = Closing()
        return EventStream(self._streamed(request, closing), closing)

    def session(
        self,
        *,
        session_history_config: Mapping[str, Any] | None = None,
        late_injection_policy: str = "surface",
        max_follow_up_turns: int = 1,
    ) -> AgentSession:
        """Open a conversation with this agent."""
        return AgentSession(
            self,
            session_history_config=session_history_config,
            late_injection_policy=late_injection_policy,
            max_follow_up_turns=max_follow_up_turns,
        )

    @classmethod
    def from_config(
        cls,
        source: str | os.PathLike[str] | Mapping[str, Any],
        *,
        tools: Iterable[Any] = (),
        hooks: Hooks | None = None,
        media_store: MediaStore | str | os.PathLike[str] | None = None,
    ) -> Agent:
        """Return the agent that a YAML file, or a mapping of the same shape, describes. See :meth:`to_config`."""
        data = config.checked(source) if isinstance(source, Mapping) else config.read_file(source)
        return cls(**config.arguments(data, tools=tools, hooks=hooks, media_store=media_store))

    @classmethod
    def from_config_string(
        cls,
        yaml_text: str,
        *,
        tools: Iterable[Any] = (),
        hooks: Hooks | None = None,
        media_store: MediaStore | str | os.PathLike[str] | None = None,
    ) -> Agent:
        """Return the agent that a YAML text describes."""
        data = config.read_text(yaml_text)
        return cls(**config.arguments(data, tools=tools, hooks=hooks, media_store=media_store))

    def to_config(self) -> dict[str, Any]:
        """Return the recipe that :meth:`from_config` reads, without the key.

        What cannot be written (functions, hooks, a store of the host's own) is named under ``unserialisable``.
        """
        return config.recipe(self.row, self.settings, self.tools, self.media_store, self.access.base_url)

    # What a session needs of its agent (core/protocols.py, Runner).

    @property
    def session_history_config(self) -> Mapping[str, Any] | None:
        """The agent's default for its sessions' history."""
        return self.settings.session_history_config

    @property
    def media_policy(self) -> str:
        """What a save does with media."""
        return self.settings.media_policy

    @property
    def media_max_inline_bytes(self) -> int | None:
        """How large an upload may be that an envelope holds inline, in bytes; ``None`` is no limit."""
        return self.settings.media_max_inline_bytes

    @property
    def on_unsupported_part(self) -> str:
        """What becomes of a part that the row does not take."""
        return self.settings.on_unsupported_part

    @property
    def stream_history(self) -> str:
        """How a streamed turn is stored, ``light`` or ``native``."""
        return self.settings.stream_history

    @property
    def reuse_anthropic_container(self) -> bool:
        """Whether a session hands the container of its latest answer on."""
        return self.settings.reuse_anthropic_container

    def prefix_fingerprint(self) -> dict[str, str]:
        """Return the digests of the system prompt and of the tool surface."""
        tools = [vars(tool) for tool in self.tools.values()]
        if offers_reading_on(self.settings) and self.row.takes_setting("tools"):
            tools.append({**vars(reading_tool(KeptResults(), 1)), "name": IN_FINGERPRINT})
        return fingerprint(self.settings.instructions, tools)

    def start_turn(self, request: TurnRequest) -> Turn:
        """Return a turn that is ready to run; nothing has left yet."""
        turn = Turn(Means(self.row, self._speaker, self.settings, self._sent, self.tools, self._compacting), request)
        self._run_handle = turn.handle
        return turn

    def note_abandoned(self, result: AgentResult) -> None:
        """Remember the account of a stream that was closed early."""
        self.last_abandoned_stream = result

    def _find_row(self, model: str, base_url: str | None) -> ModelRow:
        """Return the model's row; a model outside the registry brings its own."""
        return find(model, base_url)

    def _compaction(self) -> Compacting | None:
        """Return what turns need to compact. Raises ``ValueError`` for a summary model that nobody knows."""
        chosen = compaction_config(self.settings.compaction, self.settings.compaction_config)
        if chosen is None:
            return None
        row = self.row if chosen.summary_model is None else find(chosen.summary_model)
        speaker = self._speaker if row is self.row else self._summariser(row)
        settings = AgentSettings(instructions=INSTRUCTIONS, max_retries=self.settings.max_retries)
        means = Means(row, speaker, settings, settings.sent_with(row, ()), {})
        return Compacting(chosen, lambda request: Turn(means, request))

    def _summariser(self, row: ModelRow) -> Callable[[], Adapter]:
        """Return the way to the model that writes summaries; key and address are the agent's on the same provider."""
        access = self.access if row.provider == self.row.provider else Access()
        return lambda: make_adapter(row, access)

    def _speaker(self) -> Adapter:
        """Return the adapter, made when first needed. Raises ``ProviderError`` where none speaks for the row."""
        if self._adapter is None:
            self._adapter = make_adapter(self.row, self.access)
        return self._adapter

    async def _streamed(self, request: TurnRequest, closing: Closing) -> AsyncGenerator[Event, None]:
        turn = self.start_turn(request)
        complete: Complete | None = None
        try:
            async with contextlib.aclosing(turn.events()) as events:
                async for event in events:
                    if isinstance(event, Complete):
                        complete = event
                        break
                    yield event
        except BaseException as error:
            if closing.explains(error):
                self.note_abandoned(turn.spent("the stream was closed before it was complete"))
            raise
        if complete is not None:
            yield complete
