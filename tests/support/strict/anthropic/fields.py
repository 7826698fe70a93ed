"""Anthropic request fields: which exist, which blocks stand in which role, and the shapes of both (W-A13, W-A36)."""

from __future__ import annotations

from typing import Any

from support.strict.rule import Found, Json, Violation, WireRequest, as_list, as_object, words

TOP = words(
    "cache_control container diagnostics inference_geo max_tokens messages metadata model output_config service_tier "
    "speed stop_sequences stream system temperature thinking tool_choice tools top_k top_p user_profile_id workspace_id"
)
BETA_TOP = words(
    "billing_policy compaction context_management fallback_credit_token fallbacks mcp_servers output_format thread"
)
_NOT_AN_OBJECT = "Input should be a valid dictionary or object to extract fields from"
BINDING_BETA = "thinking-binding-controls-2026-08-01"

_SERVER_RESULTS = (
    "advisor_tool_result bash_code_execution_tool_result code_execution_tool_result "
    "text_editor_code_execution_tool_result tool_search_tool_result web_fetch_tool_result web_search_tool_result"
)
# kind: (required, optional). Fields of the SDK's parameter types (anthropic 2.14.0).
BLOCKS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "text": (words("text"), words("cache_control citations")),
    "image": (words("source"), words("cache_control transformations")),
    "document": (words("source"), words("cache_control citations context title")),
    "search_result": (words("content source title"), words("cache_control citations")),
    "thinking": (words("thinking signature"), frozenset()),
    "redacted_thinking": (words("data"), frozenset()),
    "tool_use": (words("id input name"), words("cache_control caller toolset_name")),
    "tool_result": (words("tool_use_id"), words("cache_control content is_error toolset_name")),
    "tool_reference": (words("tool_name"), words("cache_control")),
    "server_tool_use": (words("id input name"), words("cache_control caller")),
    "mcp_tool_use": (words("id input name server_name"), words("cache_control")),
    "mcp_tool_result": (words("tool_use_id"), words("cache_control content is_error")),
    "container_upload": (words("file_id"), words("cache_control")),
    "compaction": (words("content"), words("cache_control encrypted_content signature tool_changes")),
    **{kind: (words("tool_use_id content"), words("cache_control caller")) for kind in _SERVER_RESULTS.split()},
}
# Kinds whose inner shape is not checked here: they exist behind betas only.
OPEN_BLOCKS = words("browser_state fallback mcp_tool_listing tool_addition tool_removal")
_BOTH = words("text container_upload") | words(_SERVER_RESULTS) | OPEN_BLOCKS
USER_BLOCKS = _BOTH | words("image document search_result tool_result")
ASSISTANT_BLOCKS = _BOTH | words(
    "thinking redacted_thinking tool_use server_tool_use mcp_tool_use mcp_tool_result compaction"
)
RESULT_BLOCKS = words("text image document search_result tool_reference")
SOURCES: dict[str, dict[str, tuple[frozenset[str], frozenset[str]]]] = {
    "image": {
        "base64": (words("data media_type"), frozenset()),
        "url": (words("url"), frozenset()),
        "file": (words("file_id"), frozenset()),
    },
    "document": {
        "base64": (words("data media_type"), frozenset()),
        "content": (words("content"), frozenset()),
        "file": (words("file_id"), frozenset()),
        "text": (words("data media_type"), frozenset()),
        "url": (words("url"), frozenset()),
    },
}
_NEVER_NULL = words("caller id input name text tool_use_id")


def betas(request: WireRequest) -> frozenset[str] | None:
    """Return the beta names of the request's header, `None` where the headers are not known."""
    if request.headers is None:
        return None
    return frozenset(name.strip() for name in request.headers.get("anthropic-beta", "").split(",") if name.strip())


def check_top(request: WireRequest) -> Found:
    """W-A13, W-A32, W-A36: top-level names, the required ones, and what needs a beta header."""
    body, named = request.body, betas(request)
    for name in sorted(set(body) - TOP):
        if name not in BETA_TOP or named == frozenset():
            yield Violation("W-A13", name, f"{name}: Extra inputs are not permitted")
    for name in ("model", "messages") + (("max_tokens",) if request.operation == "generate" else ()):
        if name not in body:
            yield Violation("W-A13", name, f"{name}: Field required")
    if isinstance(body.get("container"), dict) and named == frozenset():
        yield Violation("W-A36", "container", "container: Input should be a valid string")
    binding = as_object(body.get("thinking")).get("block_binding")
    if binding is not None and named is not None and BINDING_BETA not in named:
        place = "thinking.block_binding"
        yield Violation("W-A32", place, f"{place}: Extra inputs are not permitted")


def check_messages(messages: list[Any]) -> Found:
    """W-A13: the shape of each message and of each block, and blocks that stand in the wrong role."""
    for number, message in enumerate(messages):
        place = f"messages.{number}"
        if not isinstance(message, dict):
            yield Violation("W-A13", place, f"{place}: {_NOT_AN_OBJECT}")
            continue
        for name in sorted(set(message) - {"role", "content"}):
            yield Violation("W-A13", f"{place}.{name}", f"{place}.{name}: Extra inputs are not permitted")
        content = message.get("content")
        if "content" not in message:
            yield Violation("W-A13", f"{place}.content", f"{place}.content: Field required")
        elif not isinstance(content, str | list):
            yield Violation("W-A13", f"{place}.content", f"{place}.content: Input should be a valid list")
        allowed = ASSISTANT_BLOCKS if message.get("role") == "assistant" else USER_BLOCKS
        for index, block in enumerate(as_list(content)):
            yield from check_block(block, f"{place}.content.{index}", allowed)


def check_block(block: Any, place: str, allowed: frozenset[str]) -> Found:
    """W-A13: one block's kind, required fields and unknown fields, with what is nested in it."""
    if not isinstance(block, dict):
        yield Violation("W-A13", place, f"{place}: {_NOT_AN_OBJECT}")
        return
    kind = block.get("type")
    if kind not in BLOCKS and kind not in OPEN_BLOCKS:
        tags = ", ".join(f"'{name}'" for name in sorted(BLOCKS))
        text = f"{place}: Input tag '{kind}' found using 'type' does not match any of the expected tags: {tags}"
        yield Violation("W-A13", place, text)
        return
    if kind not in allowed:
        yield Violation("W-A13", place, f"{place}: `{kind}` blocks are not allowed here")
    if kind in BLOCKS:
        yield from _check_names(block, f"{place}.{kind}", *BLOCKS[kind])
    if kind in SOURCES:
        yield from _check_source(block, kind, f"{place}.{kind}.source")
    if kind == "tool_use" and not isinstance(block.get("input"), dict):
        yield Violation("W-A13", place, f"{place}.tool_use.input: Input should be a valid dictionary")
    if kind == "tool_result" and isinstance(block.get("content"), list):
        for index, inner in enumerate(block["content"]):
            yield from check_block(inner, f"{place}.tool_result.content.{index}", RESULT_BLOCKS)


def _check_names(block: Json, place: str, required: frozenset[str], optional: frozenset[str]) -> Found:
    for name in sorted(required - set(block)):
        yield Violation("W-A13", f"{place}.{name}", f"{place}.{name}: Field required")
    for name in sorted(set(block) - required - optional - {"type"}):
        yield Violation("W-A13", f"{place}.{name}", f"{place}.{name}: Extra inputs are not permitted")
    for name in sorted(_NEVER_NULL & set(block)):
        if block[name] is None:
            yield Violation("W-A13", f"{place}.{name}", f"{place}.{name}: Input should be a valid value")


def _check_source(block: Json, kind: str, place: str) -> Found:
    source = block.get("source")
    if not isinstance(source, dict):
        return
    shape = SOURCES[kind].get(source.get("type", ""))
    if shape is None:
        tags = ", ".join(f"'{name}'" for name in SOURCES[kind])
        found = source.get("type")
        text = f"{place}: Input tag '{found}' found using 'type' does not match any of the expected tags: {tags}"
        yield Violation("W-A13", place, text)
        return
    yield from _check_names(source, place, *shape)
