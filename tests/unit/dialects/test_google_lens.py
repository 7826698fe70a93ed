"""The lens of Gemini contents: every part where it belongs, told by value, nothing changed in place."""

from __future__ import annotations

import base64
import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doc_processing_toolkit.core.jsonclean import clean
from doc_processing_toolkit.dialects.detect import dialect_of, lens_of
from doc_processing_toolkit.dialects.google import UNNUMBERED, GoogleLens, text_of
from doc_processing_toolkit.dialects.google_parts import is_empty, is_signed, kind_of, stored_part, without_nulls
from doc_processing_toolkit.dialects.google_turns import stored_turn
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
from doc_processing_toolkit.history.boundaries import legal_prefix
from doc_processing_toolkit.history.config import HistoryConfig
from doc_processing_toolkit.history.modes import prepare, stored

LENS = GoogleLens()
SIGNATURE = base64.urlsafe_b64encode(b"\xfb\xff a signature").decode()
BLOB = {"inline_data": {"mime_type": "image/png", "data": "aGVsbG8="}}
FILE = {
    "file_data": {"file_uri": "https://generativelanguage.googleapis.com/v1beta/files/abc", "mime_type": "audio/wav"}
}
TUBE = {"file_data": {"file_uri": "https://www.youtube.com/watch?v=x"}}
CALL = {"function_call": {"id": "a1b2c3d4", "name": "add", "args": {"a": None}}, "thought_signature": SIGNATURE}
RESPONSE = {"function_response": {"id": "a1b2c3d4", "name": "add", "response": {"output": "3"}}}
THOUGHT = {"text": "hm", "thought": True}
TOMORROW = {"hologram": {"rays": [1, None], "camelCase": True}}
USER = {"role": "user", "parts": [{"text": "look"}, BLOB, FILE]}
ANSWER = {"role": "model", "parts": [THOUGHT, {"text": "3", "thought_signature": SIGNATURE}]}


def model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def filled(part: dict[str, Any]) -> dict[str, Any]:
    """The part as ``Part.model_dump()`` gives it: all twenty fields, most of them None."""
    types = pytest.importorskip("google.genai.types")
    dumped: dict[str, Any] = types.Part.model_validate(part).model_dump(mode="json")
    assert len(dumped) >= 20
    return dumped


def test_the_registry_of_lenses_knows_it() -> None:
    assert isinstance(lens_of("google"), GoogleLens)


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        ({"text": "hi"}, Kind.TEXT),
        ({"text": ""}, Kind.TEXT),
        ({"text": "", "thought_signature": SIGNATURE}, Kind.TEXT),
        (THOUGHT, Kind.REASONING),
        (BLOB, Kind.MEDIA),
        ({"inlineData": {"mimeType": "image/png", "data": "aGk="}}, Kind.MEDIA),
        (FILE, Kind.MEDIA),
        (TUBE, Kind.MEDIA),
        (CALL, Kind.CALL),
        ({"functionCall": {"name": "add"}}, Kind.CALL),
        (RESPONSE, Kind.RESULT),
        ({"executable_code": {"code": "1", "language": "PYTHON"}}, Kind.PROVIDER_TOOL),
        ({"codeExecutionResult": {"outcome": "OUTCOME_OK"}}, Kind.PROVIDER_TOOL),
        ({"tool_call": {"id": "t"}}, Kind.PROVIDER_TOOL),
        ({"thought_signature": SIGNATURE}, Kind.OTHER),
        (TOMORROW, Kind.OTHER),
        ({}, Kind.OTHER),
        ({"text": 5}, Kind.OTHER),
        ({"function_call": "odd"}, Kind.OTHER),
        ("odd", Kind.OTHER),
    ],
)
def test_every_part_has_its_kind(part: Any, kind: Kind) -> None:
    assert [view.kind for view in LENS.views(model(part))] == [kind]


@pytest.mark.parametrize("part", [{"text": "hi"}, THOUGHT, BLOB, FILE, CALL, RESPONSE])
def test_c11_a_part_with_every_field_present_is_told_by_what_it_carries(part: dict[str, Any]) -> None:
    assert kind_of(filled(part)) is kind_of(part)
    assert without_nulls(filled(part)).keys() == part.keys()
    assert LENS.views(model(filled(part)))[0].name == LENS.views(model(part))[0].name


def test_c11_messages_only_keeps_questions_and_answers_of_dumped_parts() -> None:
    history = [
        user(filled({"text": "1 + 2?"})),
        model(filled(CALL)),
        user(filled(RESPONSE)),
        model(filled(THOUGHT), filled({"text": "3"})),
    ]
    kept = prepare(history, HistoryConfig(mode="messages_only"), LENS).messages
    assert [text_of(message) for message in kept] == ["1 + 2?", "3"]
    assert kept[0] is history[0]
    assert kept[1]["parts"] == [history[3]["parts"][1]]


def test_c05_no_reasoning_keeps_signed_parts_and_loses_thought_summaries() -> None:
    history = [USER, model(THOUGHT, CALL), user(RESPONSE), ANSWER]
    kept = stored(history, HistoryConfig(mode="no_reasoning"), LENS)
    assert kept == [USER, model(CALL), user(RESPONSE), model({"text": "3", "thought_signature": SIGNATURE})]


def test_no_tool_results_puts_a_placeholder_where_the_result_was() -> None:
    wrapped = {"function_response": {"name": "add", "response": {"error": "no"}, "parts": [BLOB]}}
    bare = {"function_response": {"name": "add", "response": {"a": 1, "b": 2}}}
    (message,) = prepare([user(wrapped, bare)], HistoryConfig(mode="no_tool_results"), LENS).messages
    answers = [part["function_response"]["response"] for part in message["parts"]]
    assert answers == [{"error": "[tool result left out]"}, {"output": "[tool result left out]"}]
    assert "parts" not in message["parts"][0]["function_response"]


@pytest.mark.parametrize(
    ("message", "role"),
    [
        (USER, "user"),
        ({"parts": [{"text": "x"}]}, "user"),
        (user(RESPONSE), "user"),
        ({"role": "function", "parts": [RESPONSE]}, "user"),
        (ANSWER, "assistant"),
        ({"role": "assistant", "content": "x"}, "assistant"),
        ({"role": "system", "content": "x"}, "system"),
        ({"role": ["odd"], "content": "x"}, "other"),
    ],
)
def test_every_message_has_a_role(message: dict[str, Any], role: str) -> None:
    assert LENS.role(message) == role


@pytest.mark.parametrize("message", [USER, ANSWER, user(RESPONSE), model(CALL), model(TOMORROW), model()])
def test_own_shapes_are_recognised(message: dict[str, Any]) -> None:
    assert LENS.sniff(message)
    assert dialect_of(message) == "google"


@pytest.mark.parametrize(
    "message", [{"role": "user", "content": "hi"}, {"role": "user", "content": [{"type": "text", "text": "hi"}]}]
)
def test_plain_text_is_taken(message: dict[str, Any]) -> None:
    assert LENS.sniff(message)
    assert dialect_of(message) == "neutral"
    assert [view.kind for view in LENS.views(message)] == [Kind.TEXT]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": "x", "tool_calls": []},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n", "input": {}}]},
        {"role": "user", "content": [{"type": "input_text", "text": "x"}]},
        {"role": "user", "parts": "x"},
        {"role": "assistant", "parts": [{"text": "x"}]},
        {"role": "user", "parts": [{"type": "text", "text": "x"}]},
        {"role": "user", "parts": [], "content": "x"},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"role": "user"},
        {"role": ["odd"], "parts": []},
    ],
)
def test_other_dialects_are_not_taken(message: dict[str, Any]) -> None:
    assert not LENS.sniff(message)


def test_media_is_seen_in_function_responses_too_and_goes_back_where_it_was() -> None:
    message = user({"function_response": {"name": "draw", "response": {}, "parts": [BLOB]}}, BLOB)
    views = LENS.media_views(message)
    assert [view.path for view in views] == [("parts", 0, "function_response", "parts", 0), ("parts", 1)]
    assert [LENS.media(view) for view in views] == [InlineMedia("aGVsbG8=", "image/png")] * 2
    marked = replace_blocks(message, [LENS.with_media(view, "$media:x.png") for view in views])
    assert json.dumps(marked).count("$media:x.png") == 2
    restored = replace_blocks(marked, [LENS.with_media(view, "aGVsbG8=") for view in LENS.media_views(marked)])
    assert restored == message


def test_text_in_the_place_of_a_results_media_is_a_blob_and_no_media_any_more() -> None:
    message = user({"functionResponse": {"name": "draw", "response": {"output": "a"}, "parts": [BLOB]}}, BLOB)
    views = LENS.media_views(message)
    texts = [LENS.text_block(view, "[image/png, 5 B, removed on save] ü") for view in views]
    changed = replace_blocks(message, texts)
    assert changed["parts"][1] == {"text": "[image/png, 5 B, removed on save] ü"}
    assert LENS.media_views(changed) == []
    assert LENS.result_text(LENS.views(changed)[0]) == "a\n[image/png, 5 B, removed on save] ü"
    types = pytest.importorskip("google.genai.types")
    types.Content.model_validate(changed)


@pytest.mark.parametrize(
    ("part", "held"),
    [
        ({"inline_data": {"mime_type": "image/png", "data": "-_8="}}, InlineMedia("+/8=", "image/png")),
        ({"inlineData": {"mimeType": "image/png", "data": "+/8="}}, InlineMedia("+/8=", "image/png")),
        ({"inline_data": {"data": "$media:a_b-c.png"}}, InlineMedia("$media:a_b-c.png", None)),
        (FILE, MediaReference("google_file_uri", FILE["file_data"]["file_uri"], "audio/wav")),
        ({"file_data": {"file_uri": "http://127.0.0.1:9/v1/files/a"}},
         MediaReference("google_file_uri", "http://127.0.0.1:9/v1/files/a")),
        (TUBE, MediaReference("url", "https://www.youtube.com/watch?v=x")),
        ({"text": "x"}, None),
    ],
)  # fmt: skip
def test_media_is_read_in_either_alphabet_and_spelling(part: dict[str, Any], held: Any) -> None:
    assert LENS.media(BlockView(kind_of(part), part, ("parts", 0))) == held


def test_a_question_and_results_are_written_natively() -> None:
    parts = [TextPart("look"), TextPart(""), MediaPart("aGk=", "image/png", "a.png")]
    blob = {"inline_data": {"mime_type": "image/png", "data": "aGk="}}
    assert LENS.user_message(parts) == user({"text": "look"}, blob)
    assert LENS.user_message([TextPart("")]) == user({"text": ""})
    outcomes = [
        ToolOutcome("a1b2c3d4", "add", "3"),
        ToolOutcome(f"{UNNUMBERED}9f", "sub", "no", is_error=True),
        ToolOutcome("x", "draw", (TextPart("here"), MediaPart("aGk=", "image/png"))),
    ]
    (message,) = LENS.result_messages(outcomes)
    assert [part["function_response"] for part in message["parts"]] == [
        {"id": "a1b2c3d4", "name": "add", "response": {"output": "3"}},
        {"name": "sub", "response": {"error": "no"}},
        {"id": "x", "name": "draw", "response": {"output": "here"}, "parts": [blob]},
    ]
    assert [LENS.result_text(view) for view in LENS.views(message)] == ["3", "no", "here"]
    assert LENS.result_messages([]) == []


@pytest.mark.parametrize(
    ("response", "text"),
    [
        ({"output": "3"}, "3"),
        ({"result": "3"}, "3"),
        ({"sum": 3, "list": [1]}, '{"sum": 3, "list": [1]}'),
        ({"output": {"a": 1}}, '{"output": {"a": 1}}'),
        ({}, ""),
        (None, ""),
        ("bare", "bare"),
    ],
)
def test_a_result_reads_as_text(response: Any, text: str) -> None:
    view = LENS.views(user({"function_response": {"name": "f", "response": response}}))[0]
    assert LENS.result_text(view) == text


def test_a_cut_never_leaves_a_call_without_its_response() -> None:
    anonymous = [USER, model({"function_call": {"name": "f"}}), user({"function_response": {"name": "f"}}), ANSWER]
    assert [legal_prefix(anonymous, count, LENS) for count in range(5)] == [0, 1, 1, 3, 4]


PARTS = st.sampled_from(
    [{"text": "a"}, THOUGHT, BLOB, FILE, CALL, RESPONSE, TOMORROW, {}, {"text": None}, {"thought": None}]
) | st.dictionaries(
    st.text(max_size=5), st.none() | st.text(max_size=3) | st.dictionaries(st.text(max_size=3), st.none())
)
MESSAGES = st.one_of(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "model"]), "parts": st.lists(PARTS, max_size=4)}),
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": st.text(max_size=5)}),
)


@given(message=MESSAGES, data=st.data())
def test_a_message_rebuilt_of_its_own_blocks_is_the_same_object_and_stays_clean(message: Any, data: Any) -> None:
    before = copy.deepcopy(message)
    views = LENS.views(message)
    assert LENS.rebuild(message, views) is message
    kept = [view for view in views if data.draw(st.booleans())]
    rebuilt = LENS.rebuild(message, kept)
    assert (rebuilt is None) == (not kept and bool(views))
    if rebuilt is not None:
        assert [view.block for view in LENS.views(rebuilt)] == [view.block for view in kept]
        assert clean(rebuilt) == rebuilt
    assert message == before


def test_an_answers_part_is_stored_as_the_sdk_would_dump_it() -> None:
    types = pytest.importorskip("google.genai.types")
    signature = base64.b64encode(b"\xfb\xff\xfe signature").decode()
    assert "+" in signature or "/" in signature
    for part in (
        {"text": "a", "thoughtSignature": signature},
        {"text": "a", "thought": True},
        {
            "functionCall": {"id": "x", "name": "f", "args": {"camelCase": {"inner": None}}},
            "thoughtSignature": signature,
        },
        {"executableCode": {"code": "print(1)", "language": "PYTHON", "id": "c1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1", "id": "c1"}},
        {"fileData": {"fileUri": "https://x/files/a", "mimeType": "audio/wav"}},
        {"text": "", "thoughtSignature": signature},
    ):
        dumped = types.Part.model_validate(part).model_dump(mode="json", exclude_none=True)
        assert stored_part(part) == dumped
        assert is_signed(stored_part(part)) == ("thoughtSignature" in part)


def test_a_part_of_tomorrow_is_stored_as_it_came() -> None:
    part = {"holoGram": {"camelCase": {"x": 1}, "list": [None]}, "thoughtSignature": "a+b/"}
    assert stored_part(part) == {"holoGram": part["holoGram"], "thought_signature": "a-b_"}
    assert not is_empty(part)


@pytest.mark.parametrize("part", [{}, {"text": None}, {"thought": True}, {"thought": None, "text": None}, "odd"])
def test_what_holds_nothing_is_empty(part: Any) -> None:
    assert is_empty(part)


def test_b07_the_final_answer_stays_as_the_api_gave_it() -> None:
    turn = [USER, model(CALL), user(RESPONSE), ANSWER]
    assert stored_turn(turn, retains_content=True) == turn


def test_b07_with_the_switch_off_the_final_answer_is_plain_text() -> None:
    split = model(THOUGHT, {"text": "it is "}, {"text": "3"}, {"thought_signature": SIGNATURE})
    turn = stored_turn([USER, model(THOUGHT, CALL), user(RESPONSE), split], retains_content=False)
    assert turn == [USER, model(THOUGHT, CALL), user(RESPONSE), {"role": "assistant", "content": "it is 3"}]
    picture = model(THOUGHT, {"text": "here"}, BLOB)
    assert stored_turn([USER, picture], retains_content=False) == [USER, model({"text": "here"}, BLOB)]
    assert stored_turn([USER, model(CALL)], retains_content=False) == [USER, model(CALL)]
    assert stored_turn([], retains_content=False) == []
