"""What a conversion writes, drops, renames and refuses, case by case."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from doc_processing_toolkit import Agent, AgentSession, SessionCompatibilityError, UnsupportedPartError, registry
from doc_processing_toolkit.conversion.crossing import Crossing, Origin, cross, log_crossing
from doc_processing_toolkit.dialects.view import InlineMedia
from doc_processing_toolkit.testing import scripted_agent
from unit.conversion.spoken import DIALECTS, PIXEL_64, PROVIDERS, ROWS
from unit.conversion.wire import violations

History = list[dict[str, Any]]
PDF_64 = base64.b64encode(b"%PDF-1.4\n1 0 obj<</Type/Page>>endobj\n").decode()
JPEG_64 = base64.b64encode(b"\xff\xd8\xff\xe0" + bytes(60)).decode()
WAV_64 = base64.b64encode(b"RIFF\x00\x00\x00\x00WAVEfmt " + bytes(60)).decode()


def to(target: str, messages: History, provider: str | None = None, **settings: Any) -> Crossing:
    policy = settings.pop("policy", "placeholder")
    origin = Origin(provider, settings.pop("container", None), settings.pop("uploads", {}))
    return cross(messages, origin, registry.find(ROWS.get(target, target)), policy=policy, **settings)


def bare(crossing: Crossing) -> History:
    return [{key: entry[key] for key in entry if key not in ("from", "to", "at")} for entry in crossing.report]


def call(call_id: str, name: str = "f") -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}}


def result(call_id: str, content: Any = "ok") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def model(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def test_the_report_has_the_documents_shape() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    messages: History = [
        {"role": "user", "content": "add"},
        model(thinking, {**thinking, "signature": "t"}, call("toolu_01", "add")),
        user(result("toolu_01", "3")),
        {"role": "assistant", "content": "3"},
    ]
    crossing = to("google", messages, "anthropic")
    dropped, rekeyed = crossing.report
    assert {**dropped, "at": ""} == {
        "kind": "dropped",
        "artefact": "thinking",
        "index": 1,
        "detail": "2 signed thinking block(s)",
        "from": "anthropic",
        "to": "google",
        "at": "",
    }
    assert (rekeyed["kind"], rekeyed["index"], rekeyed["name"], rekeyed["from_id"]) == ("rekeyed", 1, "add", "toolu_01")
    assert rekeyed["to_id"].startswith("call_")
    assert crossing.messages[1] == {
        "role": "model",
        "parts": [{"function_call": {"id": rekeyed["to_id"], "name": "add", "args": {}}}],
    }
    response = {"name": "add", "id": rekeyed["to_id"], "response": {"output": "3"}}
    assert crossing.messages[2] == {"role": "user", "parts": [{"function_response": response}]}
    assert crossing.messages[3] is messages[3]


def test_an_id_that_fits_is_kept_and_not_reported_and_a_second_one_is_not() -> None:
    round_of = [model(call("call_a")), user(result("call_a"))]
    crossing = to("openai", [*round_of, *round_of])
    ids = [item["call_id"] for item in crossing.messages]
    assert ids[0] == ids[1] == "call_a"
    assert ids[2] == ids[3] != "call_a"
    assert [entry["index"] for entry in crossing.report] == [2]
    assert to("openai", [*round_of, *round_of]).messages == crossing.messages


@pytest.mark.parametrize("target", DIALECTS)
def test_k09_gemini_turns_of_text_reach_every_provider_as_neutral_text(target: str) -> None:
    history: History = [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [{"text": "hel"}, {"text": "lo"}]},
    ]
    crossing = to(target, history, "google")
    if target == "google":
        assert crossing.messages == history
        return
    assert crossing.messages == [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    assert crossing.report == []
    signed = [{"text": "hm", "thought": True}, {"text": "hi", "thought_signature": "c2ln"}]
    [entry] = to(target, [history[0], {"role": "model", "parts": signed}], "google").report
    assert (entry["kind"], entry["artefact"], entry["index"]) == ("dropped", "thought", 1)


def test_k06_with_the_switch_off_text_crosses_and_native_history_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPT_SESSION_CROSS_PROVIDER_CONVERSION", "off")
    text = [{"role": "user", "parts": [{"text": "hi"}]}]
    assert to("openai", text).messages == [{"role": "user", "content": "hi"}]
    with pytest.raises(SessionCompatibilityError, match="switched off"):
        to("openai", [model(call("t")), user(result("t"))])


def test_k06_versions_without_a_provider_convert_by_the_shape_of_their_messages() -> None:
    history: History = [
        {"role": "user", "content": "q"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "functions.f:0", "type": "function", "function": {"name": "f", "arguments": ""}}],
        },
        {"role": "tool", "tool_call_id": "functions.f:0", "content": [{"type": "text", "text": "r"}]},
        {"role": "assistant", "content": "a"},
    ]
    crossing = to("anthropic", history)
    assert crossing.converted_from == "fireworks"
    assert crossing.messages[1]["content"][0]["input"] == {}
    assert violations(crossing.messages, ROWS["anthropic"]) == []


def test_24_a_wrong_label_does_not_change_what_the_messages_are() -> None:
    history = [model(call("toolu_a")), user(result("toolu_a"))]
    assert to("anthropic", history, "openai").messages == history
    assert to("openai", history, "openai").converted_from == "anthropic"


def test_plain_text_converts_to_itself_and_marks_of_a_provider_do_not_come_along() -> None:
    plain: History = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    crossing = to("chat", plain, "anthropic")
    assert (crossing.messages, crossing.report, crossing.converted_from) == (plain, [], None)
    marked = [user({"type": "text", "text": "q", "cache_control": {"type": "ephemeral"}}), plain[1]]
    crossing = to("chat", marked, "anthropic")
    assert crossing.messages == plain
    assert violations(crossing.messages, ROWS["chat"]) == []


@pytest.mark.parametrize("target", ["openai", "google", "chat"])
def test_k02_tools_of_the_provider_and_unknown_kinds_are_dropped_and_told(target: str) -> None:
    history: History = [
        {"role": "user", "content": "q"},
        model(
            {"type": "text", "text": "searching"},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
            {"type": "hologram", "data": 1},
            {"type": "text", "text": "found"},
        ),
        user({"type": "hologram", "data": 2}),
    ]
    crossing = to(target, history, "anthropic", container="container_1")
    assert crossing.messages == [history[0], {"role": "assistant", "content": "searching\n\nfound"}]
    assert [(entry["artefact"], entry["index"]) for entry in crossing.report] == [
        ("provider_tool", 1),
        ("unknown", 1),
        ("unknown", 2),
        ("container", 0),
    ]


def test_items_that_openai_runs_itself_are_dropped_and_ids_of_items_do_not_travel() -> None:
    history: History = [
        {"role": "user", "content": "q"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {}},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "a", "annotations": [{"type": "url_citation"}]}],
        },
    ]
    crossing = to("anthropic", history, "openai")
    assert crossing.messages == [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    assert [entry["artefact"] for entry in crossing.report] == ["reasoning", "provider_tool", "citations"]


def document(data: str = PDF_64) -> dict[str, Any]:
    source = {"type": "base64", "media_type": "application/pdf", "data": data}
    return {"type": "document", "source": source, "title": "a.pdf"}


def test_media_by_bytes_in_questions_and_results_reaches_the_rows_that_take_it() -> None:
    history: History = [
        user(document(), {"type": "text", "text": "read"}),
        model(call("t")),
        user(result("t", [{"type": "text", "text": "page"}, document()]), {"type": "text", "text": "and?"}),
        {"role": "assistant", "content": "a"},
    ]
    openai = to("openai", history, "anthropic").messages
    assert openai[0]["content"][0] == {
        "type": "input_file",
        "filename": "a.pdf",
        "file_data": f"data:application/pdf;base64,{PDF_64}",
    }
    assert [part["type"] for part in openai[2]["output"]] == ["input_text", "input_file"]
    assert openai[3] == {"role": "user", "content": "and?"}
    google = to("google", history, "anthropic").messages
    assert google[2]["parts"][0]["function_response"]["parts"][0]["inline_data"]["data"] == PDF_64
    crossing = to("chat", history, "anthropic")
    assert PDF_64 not in json.dumps(crossing.messages)
    assert crossing.messages[0]["content"][0]["text"].startswith("[application/pdf, 37 B, not accepted")
    assert [part["index"] for part in crossing.dropped_parts] == [0, 2]
    assert [entry["artefact"] for entry in crossing.report if entry["kind"] == "dropped"] == ["media", "media"]
    for target in ("openai", "google", "chat"):
        assert violations(to(target, history, "anthropic").messages, ROWS[target]) == []
    with pytest.raises(UnsupportedPartError, match="document in message 0"):
        to("chat", history, "anthropic", policy="raise")


def test_the_bytes_say_which_image_type_it_is() -> None:
    part = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{JPEG_64}"}}
    crossing = to("anthropic", [user(part)], "fireworks")
    assert crossing.messages[0]["content"][0]["source"]["media_type"] == "image/jpeg"


def test_audio_crosses_to_rows_that_hear_and_becomes_text_elsewhere() -> None:
    blob = {"inline_data": {"mime_type": "audio/wav", "data": WAV_64}}
    history: History = [{"role": "user", "parts": [blob, {"text": "hear"}]}]
    for target in ("anthropic", "openai", "chat"):
        crossing = to(target, history, "google")
        assert len(crossing.dropped_parts) == 1
        assert violations(crossing.messages, ROWS[target]) == []
    spoken = {"type": "input_audio", "input_audio": {"data": WAV_64, "format": "wav"}}
    crossing = to("google", [user(spoken)], "fireworks")
    assert crossing.messages == [{"role": "user", "parts": [blob]}]


def test_uploads_cross_with_their_bytes_or_as_a_line_of_text() -> None:
    uri = "https://generativelanguage.googleapis.com/v1beta/files/abc"
    history: History = [
        {"role": "user", "parts": [{"file_data": {"file_uri": uri, "mime_type": "image/png"}}, {"text": "q"}]}
    ]
    crossing = to("anthropic", history, "google")
    [entry] = crossing.report
    assert entry["artefact"] == "media"
    assert "upload" in entry["detail"]
    assert crossing.messages[0]["content"][0]["text"] == "[image/png, not available on Claude Haiku 4.5]"
    crossing = to("anthropic", history, "google", uploads={uri: InlineMedia(PIXEL_64, "image/png")})
    assert crossing.report == []
    assert crossing.messages[0]["content"][0]["source"]["data"] == PIXEL_64
    ours = [user({"type": "document", "source": {"type": "file", "file_id": "file_1"}})]
    assert "bytes were not kept" in to("openai", ours, "anthropic").report[0]["detail"]


def test_youtube_stays_on_google_and_other_addresses_go_where_they_may_stand() -> None:
    def asked(uri: str, kind: str) -> History:
        return [{"role": "user", "parts": [{"file_data": {"file_uri": uri, "mime_type": kind}}, {"text": "q"}]}]

    video = asked("https://www.youtube.com/watch?v=1", "video/mp4")
    for target in ("anthropic", "openai", "chat"):
        [entry] = to(target, video, "google").report
        assert "YouTube" in entry["detail"]
        assert violations(to(target, video, "google").messages, ROWS[target]) == []
    picture = asked("https://example.org/a.png", "image/png")
    for target in ("anthropic", "openai", "chat"):
        crossing = to(target, picture, "google")
        assert crossing.report == []
        assert "https://example.org/a.png" in json.dumps(crossing.messages)
        assert violations(crossing.messages, ROWS[target]) == []


@pytest.mark.parametrize(
    ("history", "problem", "turn"),
    [
        ([user({"type": "text", "text": "q"}), model(call("t"))], "ends inside a tool round", 1),
        ([user(result("t"))], "matches no call", 1),
        ([model(call("t")), user(result("t"), result("t"))], "matches no call", 1),
        ([model(call("t", "")), user(result("t"))], "without a name", 1),
        (
            [
                user({"type": "text", "text": "q"}),
                model({"type": "text", "text": "a"}),
                user({"type": "text", "text": "q2"}),
                model(call("t")),
                user({"type": "text", "text": "q3"}),
                model({"type": "text", "text": "a"}),
            ],
            "without its result",
            2,
        ),
    ],
)
def test_k03_what_cannot_be_paired_is_refused_and_names_the_turn(history: History, problem: str, turn: int) -> None:
    for target in ("openai", "google", "chat"):
        with pytest.raises(SessionCompatibilityError, match=f"turn {turn} .*{problem}"):
            to(target, history, "anthropic")


def test_results_find_their_calls_by_name_or_place_where_there_is_no_id() -> None:
    def called(name: str, number: int) -> dict[str, Any]:
        return {"function_call": {"name": name, "args": {"n": number}}}

    def came(name: str, text: str) -> dict[str, Any]:
        return {"function_response": {"name": name, "response": {"result": text}}}

    history: History = [
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": [called("f", 1), called("g", 2), called("f", 3)]},
        {"role": "user", "parts": [came("g", "two"), came("f", "one"), came("f", "three")]},
    ]
    results = to("chat", history, "google").messages[2:]
    assert [message["content"] for message in results] == ["one", "two", "three"]
    history[2]["parts"][0] = came("h", "two")
    with pytest.raises(SessionCompatibilityError, match="matches no call"):
        to("chat", history, "google")


def test_results_that_come_late_or_between_stand_behind_their_calls() -> None:
    def asked(call_id: str) -> dict[str, Any]:
        return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}"}

    def came(call_id: str) -> dict[str, Any]:
        return {"type": "function_call_output", "call_id": call_id, "output": f"r{call_id}"}

    start = {"role": "user", "content": "q"}
    history = [start, asked("a"), asked("b"), came("a"), asked("c"), start, came("b"), came("c")]
    for target in ("anthropic", "google", "chat"):
        crossing = to(target, history, "openai")
        assert violations(crossing.messages, ROWS[target]) == []
        strings = json.dumps(crossing.messages)
        assert strings.index("ra") < strings.index("rb") < strings.index("rc")


def test_names_and_arguments_take_the_targets_form() -> None:
    def asked(name: str, arguments: str) -> History:
        function = {"name": name, "arguments": arguments}
        return [
            {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": "c", "content": ""},
        ]

    for name in ("ns.tool:1", "9lives", "n" * 80, "ü"):
        for target in ("anthropic", "openai", "google"):
            crossing = to(target, [{"role": "user", "content": "q"}, *asked(name, "{}")], "fireworks")
            assert violations(crossing.messages, ROWS[target]) == []
    for text, expected in (
        ('{"a": 1}', {"a": 1}),
        ("", {}),
        ("[1]", {"arguments": [1]}),
        ("not json", {"arguments": "not json"}),
        ("null", {"arguments": None}),
    ):
        crossing = to("anthropic", asked("f", text), "fireworks")
        assert crossing.messages[0]["content"][0]["input"] == expected
        item = to("openai", asked("f", text), "fireworks").messages[0]
        assert json.loads(item["arguments"]) == expected


def test_blank_text_does_not_reach_claude() -> None:
    history: History = [
        {"role": "user", "parts": [{"text": "q"}, {"text": " "}]},
        {"role": "model", "parts": [{"text": ""}, {"function_call": {"name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"function_response": {"name": "f", "response": {}}}, {"text": ""}]},
        {"role": "model", "parts": [{"text": ""}]},
    ]
    crossing = to("anthropic", history, "google")
    assert violations(crossing.messages, ROWS["anthropic"]) == []
    assert len(crossing.messages) == 3


def test_pictures_that_a_model_made_stay_in_the_conversation() -> None:
    blob = {"inline_data": {"mime_type": "image/png", "data": PIXEL_64}}
    history: History = [
        {"role": "user", "parts": [{"text": "draw"}]},
        {"role": "model", "parts": [{"text": "here"}, blob]},
    ]
    for target in ("anthropic", "openai", "chat"):
        crossing = to(target, history, "google")
        assert crossing.messages[1] == {"role": "assistant", "content": "here"}
        assert PIXEL_64 in json.dumps(crossing.messages[2])
        assert violations(crossing.messages, ROWS[target]) == []


def test_a_failed_tools_picture_stands_behind_its_round() -> None:
    response = {
        "name": "f",
        "response": {"error": "boom"},
        "parts": [{"inline_data": {"mime_type": "image/png", "data": PIXEL_64}}],
    }
    history: History = [
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": [{"function_call": {"name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"function_response": response}]},
        {"role": "model", "parts": [{"text": "a"}]},
    ]
    crossing = to("anthropic", history, "google")
    assert crossing.messages[2]["content"][0]["is_error"] is True
    assert PIXEL_64 in json.dumps(crossing.messages[3])
    assert violations(crossing.messages, ROWS["anthropic"]) == []


def test_a_history_that_begins_inside_an_answer_gets_a_beginning_on_gemini() -> None:
    history = [model(call("t")), user(result("t")), {"role": "assistant", "content": "a"}]
    assert violations(to("google", history, "anthropic").messages, ROWS["google"]) == []


def test_k05_one_warning_per_kind(caplog: pytest.LogCaptureFixture) -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    messages = [m for number in (1, 3) for m in (model(thinking, call(f"t{number}")), user(result(f"t{number}")))]
    caplog.set_level("WARNING")
    log_crossing(to("openai", messages, "anthropic"))
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert "2 item(s) dropped (thinking)" in caplog.text
    assert "2 item(s) rekeyed" in caplog.text


def test_k01_a_restore_converts_for_good_with_externalised_media(tmp_path: Path) -> None:
    history: History = [user(document(), {"type": "text", "text": "read"}), {"role": "assistant", "content": "a"}]
    state = {"messages": history, "provider": "anthropic", "schema_version": 3}
    claude = Agent(ROWS["anthropic"], api_key="k", media_store=str(tmp_path))
    saved = AgentSession.from_dict(state, agent=claude).to_dict()
    assert PDF_64 not in json.dumps(saved)
    restored = AgentSession.from_dict(saved, agent=Agent(ROWS["openai"], api_key="k", media_store=str(tmp_path)))
    assert restored.converted_from == "anthropic"
    assert PDF_64 in restored.messages[0]["content"][0]["file_data"]
    again = AgentSession.from_dict(restored.to_dict(media="inline"), agent=Agent(ROWS["openai"], api_key="k"))
    assert again.messages == restored.messages
    assert again.converted_from is None


def test_a_history_of_another_provider_crosses_to_a_text_only_row() -> None:
    agent = scripted_agent(["ok"], model="scripted/other", row={"input_types": ("text",)})
    history: History = [user(document(), {"type": "text", "text": "read"}), {"role": "assistant", "content": "a"}]
    session = AgentSession.from_dict({"messages": history, "provider": "anthropic"}, agent=agent)
    assert [part["kind"] for part in session.dropped_parts] == ["document"]
    assert PROVIDERS["anthropic"] == session.converted_from


def test_system_messages_in_a_history_stand_where_the_target_takes_them() -> None:
    history: History = [
        {"role": "user", "content": "q"},
        {"role": "developer", "content": "be brief"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "r"},
        {"role": "assistant", "content": "a"},
    ]
    for target in ("anthropic", "google", "chat"):
        crossing = to(target, history, "openai")
        assert "be brief" in json.dumps(crossing.messages)
        assert violations(crossing.messages, ROWS[target]) == []


def test_a_row_whose_template_takes_only_strings_gets_no_null() -> None:
    history = [model(call("t")), user(result("t")), {"role": "assistant", "content": "a"}]
    crossing = to("local/gemma-3-270m", history, "anthropic")
    assert crossing.messages[0]["content"] == ""
    assert crossing.converted_from == "anthropic"
