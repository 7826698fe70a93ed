"""The servers of the chat-completions family, as data: which fields, roles and parts each takes."""

from __future__ import annotations

from dataclasses import dataclass

from support.strict.rule import words

_COMMON = (
    "frequency_penalty logit_bias logprobs max_tokens messages metadata model n parallel_tool_calls presence_penalty "
    "reasoning_effort response_format seed stop stream temperature tool_choice tools top_logprobs top_p user"
)
_OPENAI = (
    "audio function_call functions max_completion_tokens modalities moderation prediction prompt_cache_key "
    "prompt_cache_options prompt_cache_retention safety_identifier service_tier store stream_options verbosity "
    "web_search_options"
)
_FIREWORKS = (
    "context_length_exceeded_behavior echo ignore_eos max_completion_tokens min_p mirostat_lr mirostat_target "
    "perf_metrics_in_response prediction prompt_cache_isolation_key prompt_cache_key prompt_truncate_len raw_output "
    "reasoning_history repetition_penalty return_token_ids safe_tokenization service_tier speculation thinking top_k "
    "typical_p"
)
_ASSISTANT = "role content name tool_calls"


@dataclass(frozen=True)
class Profile:
    """One server. An empty `top` or `assistant` set = it takes any field there."""

    name: str
    top: frozenset[str]
    assistant: frozenset[str]
    parts: frozenset[str]
    roles: frozenset[str] = words("system user assistant tool")
    longest_tool_call_id: int = 0
    """0 = no limit."""
    usage_needs_asking: bool = True
    """Usage is streamed only under `stream_options.include_usage`."""
    needs_reasoning_back: bool = False
    """W-F7: the reasoning of an open tool round must come back."""
    checks_model: bool = False


PROFILES = {
    "openai": Profile(
        name="openai",
        top=words(_COMMON) | words(_OPENAI),
        assistant=words(_ASSISTANT) | words("refusal audio function_call annotations"),
        parts=words("text image_url input_audio refusal audio file"),
        roles=words("system developer user assistant tool"),
        longest_tool_call_id=40,
        checks_model=True,
    ),
    "fireworks": Profile(
        name="fireworks",
        top=words(_COMMON) | words(_FIREWORKS),
        assistant=words(_ASSISTANT) | words("reasoning_content"),
        parts=words("text image_url video_url"),
        usage_needs_asking=False,
    ),
    "deepseek": Profile(
        name="deepseek",
        top=frozenset(),
        assistant=frozenset(),
        parts=words("text"),
        needs_reasoning_back=True,
    ),
    "compatible": Profile(
        name="compatible",
        top=frozenset(),
        assistant=frozenset(),
        parts=words("text image_url input_audio file video_url thinking"),
        roles=words("system developer user assistant tool"),
    ),
}
