"""The lens of Responses items: every item a message, every part where it belongs, nothing changed in place."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doc_processing_toolkit.core.jsonclean import clean
from doc_processing_toolkit.dialects.detect import dialect_of, lens_of
from doc_processing_toolkit.dialects.openai import OpenAILens, answer_only, text_of, wire_item
from doc_processing_toolkit.dialects.view import (
    BlockView,
    InlineMedia,
    Kind,
    MediaPart,
    MediaReference,
    TextPart,
    ToolOutcome,
    replace_blocks,
)

LENS = OpenAILens()
PNG = "data:image/png;base64,aGVsbG8="
USER = {"role": "user", "content": [{"type": "input_text", "text": "look"}, {"type": "input_image", "image_url": PNG}]}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "add", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "3"}
ANSWER = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "phase": "final_answer",
    "content": [{"type": "output_text", "text": "3", "annotations": []}],
}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
TOMORROW = {"type": "thought_stream", "id": "ts_1", "payload": {"deep": [1, None]}}


def kinds(message: dict[str, Any]) -> list[Kind]:
    return [view.kind for view in LENS.views(message)]


def test_the_registry_of_lenses_knows_it() -> None:
    assert isinstance(lens_of("openai"), OpenAILens)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (USER, [Kind.TEXT, Kind.MEDIA]),
        ({"role": "user", "content": "hi"}, [Kind.TEXT]),
        (REASONING, [Kind.REASONING]),
        (CALL, [Kind.CALL]),
        (OUTPUT, [Kind.RESULT]),
        (ANSWER, [Kind.TEXT]),
        ({**ANSWER, "content": [{"type": "refusal", "refusal": "no"}]}, [Kind.TEXT]),
        ({"type": "custom_tool_call", "call_id": "c", "name": "n", "input": "x"}, [Kind.CALL]),
        ({"type": "custom_tool_call_output", "call_id": "c", "output": "x"}, [Kind.RESULT]),
        (SEARCH, [Kind.PROVIDER_TOOL]),
        (
            {"type": "mcp_call", "id": "mcp_1", "name": "n", "arguments": "{}", "server_label": "s"},
            [Kind.PROVIDER_TOOL],
        ),
        ({"type": "additional_tools", "role": "developer", "tools": []}, [Kind.PROVIDER_TOOL]),
        ({"type": "compaction", "encrypted_content": "x"}, [Kind.OTHER]),
        (TOMORROW, [Kind.OTHER]),
        ({**ANSWER, "content": [{"type": "output_smell", "smell": 1}]}, [Kind.OTHER]),
        ({"role": "user", "content": None}, []),
        ({"role": "user", "content": ["odd"]}, [Kind.OTHER]),
    ],
)
def test_every_block_has_its_kind(message: dict[str, Any], expected: list[Kind]) -> None:
    assert kinds(message) == expected


@pytest.mark.parametrize(
    ("message", "role"),
    [
        (USER, "user"),
        (ANSWER, "assistant"),
        ({"role": "developer", "content": "be brief"}, "system"),
        (REASONING, "assistant"),
        (CALL, "assistant"),
        (SEARCH, "assistant"),
        (TOMORROW, "assistant"),
        (OUTPUT, "tool"),
        ({"type": "mcp_approval_response", "approval_request_id": "x", "approve": True}, "tool"),
        ({"type": "additional_tools", "role": "developer", "tools": []}, "tool"),
        ({"role": ["odd"], "content": "x"}, "other"),
    ],
)
def test_every_item_has_a_role(message: dict[str, Any], role: str) -> None:
    assert LENS.role(message) == role


@pytest.mark.parametrize("message", [USER, REASONING, CALL, OUTPUT, ANSWER, SEARCH, TOMORROW])
def test_own_shapes_are_recognised(message: dict[str, Any]) -> None:
    assert LENS.sniff(message)
    assert dialect_of(message) == "openai"


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": "x", "tool_calls": []},
        {"role": "assistant", "content": "x", "reasoning_content": "hm"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n", "input": {}}]},
        {"role": "user", "content": [{"type": "text", "text": "neutral"}]},
        {"role": "user", "parts": [{"text": "x"}]},
        {"role": "model", "content": "x"},
        {"role": ["odd"], "content": "x"},
        {"role": "user", "content": [{"type": ["odd"]}]},
        {"role": "user"},
        {"type": 5},
        {},
    ],
)
def test_other_shapes_are_not(message: dict[str, Any]) -> None:
    assert not LENS.sniff(message)


def test_fields_that_are_null_do_not_make_a_message_foreign() -> None:
    assert LENS.sniff(
        {"role": "assistant", "content": "x", "tool_calls": None, "reasoning_content": None, "parts": None}
    )


def test_a_message_without_its_reasoning_text_keeps_the_rest() -> None:
    left = LENS.rebuild(USER, LENS.views(USER)[:1])
    assert left == {"role": "user", "content": [{"type": "input_text", "text": "look"}]}
    assert LENS.rebuild(USER, []) is None
    assert LENS.rebuild(REASONING, []) is None
    assert len(USER["content"]) == 2


def test_results_have_text_whatever_their_shape() -> None:
    parts = [
        {"type": "input_text", "text": "a"},
        {"type": "input_image", "image_url": PNG},
        {"type": "input_text", "text": "b"},
    ]
    [listed] = LENS.views({**OUTPUT, "output": parts})
    [plain] = LENS.views(OUTPUT)
    assert (LENS.result_text(listed), LENS.result_text(plain)) == ("a\nb", "3")
    assert LENS.result_text(plain.with_block({**OUTPUT, "output": None})) == ""


def test_a_result_keeps_the_shape_of_its_content() -> None:
    listed = {**OUTPUT, "output": [{"type": "input_image", "image_url": PNG}]}
    [view] = LENS.views(listed)
    assert LENS.rebuild(listed, [LENS.with_result(view, "short")]) == {
        **OUTPUT,
        "output": [{"type": "input_text", "text": "short"}],
    }
    [view] = LENS.views(OUTPUT)
    assert LENS.rebuild(OUTPUT, [LENS.with_result(view, "short")]) == {**OUTPUT, "output": "short"}


def test_media_inside_results_is_found_and_replaced() -> None:
    message = {**OUTPUT, "output": [{"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": PNG}]}
    [view] = LENS.media_views(message)
    assert LENS.media(view) == InlineMedia("aGVsbG8=", "image/png")
    marked = replace_blocks(message, [LENS.with_media(view, "$media:abc.png")])
    assert marked["output"][1]["image_url"] == "data:image/png;base64,$media:abc.png"
    gone = replace_blocks(message, [LENS.text_block(view, "[image/png, 5 B, removed on save]")])
    assert gone["output"][1] == {"type": "input_text", "text": "[image/png, 5 B, removed on save]"}
    assert message["output"][1]["image_url"] == PNG


@pytest.mark.parametrize(
    ("part", "held"),
    [
        ({"type": "input_image", "image_url": "https://x.test/a.png"}, MediaReference("url", "https://x.test/a.png")),
        ({"type": "input_image", "image_url": None, "file_id": "file-1"}, MediaReference("provider_file", "file-1")),
        ({"type": "input_file", "file_id": "file-2"}, MediaReference("provider_file", "file-2")),
        ({"type": "input_file", "file_url": "https://x.test/a.pdf"}, MediaReference("url", "https://x.test/a.pdf")),
        (
            {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="},
            InlineMedia("JVBERi0=", "application/pdf"),
        ),
        ({"type": "input_file", "filename": "a.pdf", "file_data": "JVBERi0="}, InlineMedia("JVBERi0=", None)),
        ({"type": "input_image"}, None),
        ({"type": "input_image", "image_url": {"url": PNG}}, None),
    ],
)
def test_media_says_what_it_holds(part: dict[str, Any], held: InlineMedia | MediaReference | None) -> None:
    assert LENS.media(BlockView(Kind.MEDIA, part, ("content", 0))) == held


def test_media_goes_out_and_comes_back_in_its_own_field() -> None:
    part = {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}
    view = BlockView(Kind.MEDIA, part, ("content", 0))
    marked = LENS.with_media(view, "$media:x")
    assert LENS.media(marked) == InlineMedia("$media:x", "application/pdf")
    assert LENS.with_media(marked, "JVBERi0=").block == part


def test_a_question_of_text_alone_is_plain() -> None:
    assert LENS.user_message([TextPart("hi")]) == {"role": "user", "content": "hi"}


def test_a_question_with_files_is_in_the_parts_of_responses() -> None:
    message = LENS.user_message(
        [
            TextPart("look"),
            MediaPart("aGVsbG8=", "image/png", "a.png"),
            MediaPart("JVBERi0=", "application/pdf", "b.pdf"),
        ]
    )
    assert message["content"] == [
        {"type": "input_text", "text": "look"},
        {"type": "input_image", "image_url": PNG, "detail": "auto"},
        {"type": "input_file", "filename": "b.pdf", "file_data": "data:application/pdf;base64,JVBERi0="},
    ]


def test_every_call_gets_its_own_output_item() -> None:
    outcomes = [ToolOutcome("call_1", "add", "3"), ToolOutcome("call_2", "add", "Error: no", is_error=True)]
    assert LENS.result_messages(outcomes) == [
        {"type": "function_call_output", "call_id": "call_1", "output": "3"},
        {"type": "function_call_output", "call_id": "call_2", "output": "Error: no"},
    ]


def test_an_outcome_with_media_is_a_list_of_parts() -> None:
    """W-O12."""
    [message] = LENS.result_messages(
        [ToolOutcome("call_1", "draw", (TextPart("a"), MediaPart("aGVsbG8=", "image/png")))]
    )
    assert message["output"] == [
        {"type": "input_text", "text": "a"},
        {"type": "input_image", "image_url": PNG, "detail": "auto"},
    ]
    [view] = LENS.media_views(message)
    assert LENS.media(view) == InlineMedia("aGVsbG8=", "image/png")


def test_texts_of_messages_include_refusals() -> None:
    content = [{"type": "output_text", "text": "a"}, {"type": "refusal", "refusal": "no"}, {"type": "odd"}]
    assert text_of({**ANSWER, "content": content}) == "a\n\nno"
    assert (
        LENS.system_text({"role": "developer", "content": [{"type": "input_text", "text": "be brief"}]}) == "be brief"
    )
    assert LENS.system_text(USER) is None


def test_B09_a_run_without_tools_stores_the_answers_text() -> None:
    assert answer_only("hi") == ({"role": "assistant", "content": "hi"},)


def test_neutral_text_parts_get_the_names_of_responses() -> None:
    neutral = {"role": "user", "content": [{"type": "text", "text": "Document: x"}, {"type": "text", "text": "q"}]}
    assert wire_item(neutral)["content"][1] == {"type": "input_text", "text": "q"}
    said = {"role": "assistant", "content": [{"type": "text", "text": "a"}]}
    assert wire_item(said)["content"] == [{"type": "output_text", "text": "a"}]
    assert wire_item(USER) is USER
    assert neutral["content"][0]["type"] == "text"


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
PARTS = st.one_of(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["input_text", "output_text", "text"]), "text": st.text(max_size=9)}
    ),
    st.fixed_dictionaries({"type": st.just("refusal"), "refusal": st.text(max_size=9)}),
    st.fixed_dictionaries(
        {"type": st.just("input_image"), "image_url": st.sampled_from([PNG, None, "https://x.test/i"])}
    ),
    JSON_VALUES,
)
MESSAGES = st.one_of(
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["user", "assistant", "system", "x"]),
            "content": st.text(max_size=9) | st.lists(PARTS, max_size=4),
        },
        optional={"id": st.text(max_size=4), "type": st.just("message"), "phase": st.none() | st.just("commentary")},
    ),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["reasoning", "function_call", "function_call_output", "web_search_call", "new"])},
        optional={
            "id": JSON_VALUES,
            "call_id": JSON_VALUES,
            "output": JSON_VALUES | st.lists(PARTS),
            "summary": JSON_VALUES,
        },
    ),
    st.dictionaries(st.sampled_from(["type", "role", "content", "output", "name"]), JSON_VALUES),
)


@given(MESSAGES)
def test_any_message_is_looked_at_without_being_changed(message: dict[str, Any]) -> None:
    before = copy.deepcopy(message)
    views = LENS.views(message)
    assert LENS.rebuild(message, views) is message
    assert LENS.role(message) in ("user", "assistant", "tool", "system", "other")
    LENS.sniff(message)
    LENS.system_text(message)
    wire_item(message)
    for view in views:
        if view.kind is Kind.RESULT:
            LENS.result_text(LENS.with_result(view, "x"))
    for view in LENS.media_views(message):
        held = LENS.media(view)
        if isinstance(held, InlineMedia):
            assert LENS.media(LENS.with_media(view, "QQ==")) == InlineMedia("QQ==", held.mime_type)
    assert message == before


@given(MESSAGES, st.data())
def test_what_is_rebuilt_is_clean_json_and_holds_just_what_was_kept(
    message: dict[str, Any], data: st.DataObject
) -> None:
    views = LENS.views(message)
    kept = data.draw(st.lists(st.sampled_from(views), unique_by=id, max_size=len(views))) if views else []
    kept.sort(key=lambda view: views.index(view))
    rebuilt = LENS.rebuild(message, kept)
    if rebuilt is not None:
        assert json.loads(json.dumps(clean(rebuilt))) == clean(rebuilt)
        assert [view.block for view in LENS.views(rebuilt)] == [view.block for view in kept]
