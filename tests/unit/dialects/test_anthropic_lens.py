"""The Anthropic lens: what it sees in a message, what it puts back, and whose messages it takes for its own."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doc_processing_toolkit.core.errors import UnsupportedPartError
from doc_processing_toolkit.dialects.anthropic import AnthropicLens, text_of
from doc_processing_toolkit.dialects.detect import foreign_dialect, lens_of
from doc_processing_toolkit.dialects.view import (
    InlineMedia,
    Kind,
    MediaPart,
    MediaReference,
    TextPart,
    ToolOutcome,
    replace_blocks,
)

LENS = AnthropicLens()
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
PDF = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PNG}, "title": "a"}
THINKING = {"type": "thinking", "thinking": "", "signature": "s"}
REDACTED = {"type": "redacted_thinking", "data": "d"}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": None}, "caller": {"type": "direct"}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "3", "is_error": True}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
FUTURE = {"type": "telepathy", "waves": [1, None]}
TEXT = {"type": "text", "text": "hello", "citations": None}

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from(["text", "image", "thinking", "tool_use", "tool_result", "document", "x_tool_result", "new"])
blocks = st.builds(lambda kind, rest: {**rest, "type": kind}, names, st.dictionaries(st.text(max_size=8), values))
messages = st.builds(
    lambda role, content: {"role": role, "content": content},
    st.sampled_from(["user", "assistant", "system"]),
    st.text(max_size=12) | st.lists(blocks, max_size=5),
)


@settings(deadline=None, max_examples=60)
@given(messages)
def test_putting_back_every_block_gives_the_same_message(message: dict[str, Any]) -> None:
    assert LENS.rebuild(message, LENS.views(message)) is message


@settings(deadline=None, max_examples=60)
@given(messages, st.data())
def test_putting_back_some_blocks_leaves_the_others_as_they_are(message: dict[str, Any], data: st.DataObject) -> None:
    before = json.dumps(message)
    views = LENS.views(message)
    kept = [view for view in views if data.draw(st.booleans())]
    made = LENS.rebuild(message, kept)
    assert json.dumps(message) == before
    if not kept:
        assert made is (None if views else message)
    elif made is not None and len(kept) < len(views):
        assert made["content"] == [view.block for view in kept]
        assert json.loads(json.dumps(made)) == made


@settings(deadline=None, max_examples=60)
@given(messages)
def test_whatever_stands_in_a_message_can_be_looked_at(message: dict[str, Any]) -> None:
    LENS.sniff(message)
    text_of(message)
    for view in LENS.media_views(message):
        LENS.media(view)
    for view in LENS.views(message):
        if view.kind is Kind.RESULT:
            assert isinstance(LENS.result_text(view), str)


@pytest.mark.parametrize(
    ("block", "kind"),
    [
        (TEXT, Kind.TEXT),
        (IMAGE, Kind.MEDIA),
        (PDF, Kind.MEDIA),
        (THINKING, Kind.REASONING),
        (REDACTED, Kind.REASONING),
        (CALL, Kind.CALL),
        (RESULT, Kind.RESULT),
        (SEARCH, Kind.PROVIDER_TOOL),
        (FOUND, Kind.PROVIDER_TOOL),
        ({"type": "mcp_tool_result", "tool_use_id": "x"}, Kind.PROVIDER_TOOL),
        ({"type": "container_upload", "file_id": "f"}, Kind.PROVIDER_TOOL),
        ({"type": "search_result", "content": []}, Kind.OTHER),
        (FUTURE, Kind.OTHER),
    ],
)
def test_each_kind_of_block_is_known_by_its_type(block: dict[str, Any], kind: Kind) -> None:
    (view,) = LENS.views({"role": "assistant", "content": [block]})
    assert (view.kind, view.block, view.path) == (kind, block, ("content", 0))


def test_calls_and_results_carry_their_ids() -> None:
    call, result = LENS.views({"role": "user", "content": [CALL, RESULT]})
    assert (call.call_id, call.name, result.call_id) == ("toolu_1", "add", "toolu_1")


@pytest.mark.parametrize(
    ("message", "own"),
    [
        ({"role": "user", "content": "hi"}, True),
        ({"role": "user", "content": "hi", "name": None}, True),
        ({"role": "assistant", "content": [THINKING, TEXT, CALL, FUTURE]}, True),
        ({"role": "system", "content": "be"}, True),
        ({"role": "assistant", "content": []}, True),
        ({"role": "tool", "content": "3", "tool_call_id": "x"}, False),
        ({"role": "assistant", "content": None, "tool_calls": []}, False),
        ({"role": "assistant", "content": "a", "reasoning_content": "b"}, False),
        ({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]}, False),
        ({"role": "user", "content": [{"type": "input_text", "text": "u"}]}, False),
        ({"role": "model", "parts": [{"text": "a"}]}, False),
        ({"type": "message", "role": "user", "content": "a"}, False),
        ({"type": "function_call", "name": "a"}, False),
        ({"role": "user", "content": ["a"]}, False),
    ],
)
def test_it_takes_for_its_own_what_only_anthropic_or_every_dialect_has(message: dict[str, Any], own: bool) -> None:
    assert LENS.sniff(message) is own


def test_a_history_of_its_own_is_not_foreign_and_one_of_another_dialect_is() -> None:
    own = [{"role": "user", "content": [FUTURE]}, {"role": "assistant", "content": [SEARCH, FOUND]}]
    assert lens_of("anthropic").name == "anthropic"
    assert foreign_dialect(own, "anthropic") is None
    chat = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "tool_calls": [{"id": "x"}]}]
    assert foreign_dialect(chat, "anthropic") == (1, "chat")
    assert foreign_dialect([{"role": "assistant", "content": [CALL]}], "chat") == (0, "anthropic")


def test_a_result_keeps_the_shape_of_its_content() -> None:
    listed = {**RESULT, "content": [{"type": "text", "text": "a"}, IMAGE, {"type": "text", "text": "b"}]}
    plain, in_blocks, absent = LENS.views({"role": "user", "content": [RESULT, listed, {"type": "tool_result"}]})
    assert [LENS.result_text(view) for view in (plain, in_blocks, absent)] == ["3", "a\nb", ""]
    assert LENS.with_result(plain, "x").block == {**RESULT, "content": "x"}
    assert LENS.with_result(in_blocks, "x").block["content"] == [{"type": "text", "text": "x"}]
    # An empty text block would be refused (W-A17).
    assert LENS.with_result(in_blocks, "").block["content"] == ""
    assert LENS.with_result(absent, "x").block["content"] == "x"


@pytest.mark.parametrize(
    ("source", "held"),
    [
        (IMAGE["source"], InlineMedia(PNG, "image/png")),
        ({"type": "base64", "media_type": "image/png", "data": "$media:x"}, InlineMedia("$media:x", "image/png")),
        ({"type": "url", "url": "https://a.test/b"}, MediaReference("url", "https://a.test/b")),
        ({"type": "file", "file_id": "file_1"}, MediaReference("provider_file", "file_1")),
        ({"type": "text", "media_type": "text/plain", "data": "hé"}, InlineMedia("aMOp", "text/plain")),
        ({"type": "content", "content": "a"}, None),
        ({"type": "future"}, None),
        (None, None),
    ],
)
def test_media_is_read_from_every_source(source: Any, held: Any) -> None:
    (view,) = LENS.media_views({"role": "user", "content": [{"type": "document", "source": source}]})
    assert LENS.media(view) == held


def test_media_inside_results_and_documents_is_found_and_replaced_in_place() -> None:
    nested = {"type": "document", "source": {"type": "content", "content": [IMAGE, TEXT]}}
    message = {"role": "user", "content": [{**RESULT, "content": [TEXT, IMAGE]}, nested, PDF]}
    views = LENS.media_views(message)
    assert [view.path for view in views] == [
        ("content", 0, "content", 1),
        ("content", 1),
        ("content", 1, "source", "content", 0),
        ("content", 2),
    ]
    changed = replace_blocks(message, [LENS.with_media(views[0], "$media:a"), LENS.text_block(views[3], "[gone]")])
    assert changed["content"][0]["content"][1]["source"]["data"] == "$media:a"
    assert changed["content"][2] == {"type": "text", "text": "[gone]"}
    assert message["content"][0]["content"][1]["source"]["data"] == PNG


def test_a_plain_text_document_goes_out_as_bytes_and_comes_back_as_text() -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "hé"}
    (view,) = LENS.media_views({"role": "user", "content": [{"type": "document", "source": source}]})
    assert LENS.with_media(view, base64.b64encode("né".encode()).decode()).block["source"]["data"] == "né"
    assert LENS.with_media(view, "$media:x").block["source"]["data"] == "$media:x"


def test_a_question_is_plain_text_alone_and_blocks_beside_media() -> None:
    """B10, J10: attachments stand in the provider's own user-message shape."""
    assert LENS.user_message([TextPart("hi")]) == {"role": "user", "content": "hi"}
    picture, pdf = MediaPart(PNG, "image/png"), MediaPart(PNG, "application/pdf", "b.pdf")
    note = MediaPart(base64.b64encode(b"note").decode(), "text/markdown", "c.md")
    assert LENS.user_message([picture, pdf, note, TextPart(" "), TextPart("what?")])["content"] == [
        IMAGE,
        {**PDF, "title": "b.pdf"},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "note"}, "title": "c.md"},
        {"type": "text", "text": "what?"},
    ]


@pytest.mark.parametrize("mime_type", ["audio/wav", "video/mp4", "application/zip"])
def test_media_that_the_dialect_has_no_shape_for_is_refused_by_name(mime_type: str) -> None:
    with pytest.raises(UnsupportedPartError, match=mime_type):
        LENS.user_message([MediaPart(PNG, mime_type), TextPart("what?")])


def test_all_results_of_a_round_stand_in_one_message() -> None:
    outcomes = [ToolOutcome("toolu_1", "a", "1"), ToolOutcome("toolu_2", "b", "bad", is_error=True)]
    assert LENS.result_messages(outcomes) == [
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "1"},
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": "bad", "is_error": True},
            ],
        }
    ]
    assert LENS.result_messages([]) == []


def test_media_of_a_result_is_shown_where_the_server_takes_it_and_named_where_not() -> None:
    parts = (
        TextPart("look"),
        TextPart(" "),
        MediaPart(PNG, "image/png"),
        MediaPart(PNG, "image/tiff"),
        MediaPart("A" * 10485764, "image/png"),
        MediaPart(PNG, "audio/wav"),
    )
    shown, failed = LENS.result_messages(
        [ToolOutcome("toolu_1", "a", parts), ToolOutcome("toolu_2", "b", parts[:3], is_error=True)]
    )[0]["content"]
    assert shown["content"] == [
        {"type": "text", "text": "look"},
        IMAGE,
        {"type": "text", "text": "[image/tiff, 9 bytes, cannot be shown]"},
        {"type": "text", "text": "[image/png, 7,864,323 bytes, cannot be shown]"},
        {"type": "text", "text": "[audio/wav, 9 bytes, cannot be shown]"},
    ]
    # Beside an error the server takes text alone (W-A8).
    assert failed["content"] == [{"type": "text", "text": "look"}]


def test_roles_and_system_text_are_read() -> None:
    assert [LENS.role({"role": role}) for role in ("user", "assistant", "system", "tool", None)] == [
        "user",
        "assistant",
        "system",
        "other",
        "other",
    ]
    assert LENS.system_text({"role": "system", "content": [TEXT, TEXT]}) == "hellohello"
    assert LENS.system_text({"role": "user", "content": "a"}) is None
