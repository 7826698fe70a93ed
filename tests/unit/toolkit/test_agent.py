"""The agent: its settings, its recipe, its registry row, structured answers, and what this version cannot do yet."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pydantic
import pytest
import yaml

import doc_processing_toolkit
from doc_processing_toolkit import (
    Agent,
    AgentBuilder,
    DirectoryMediaStore,
    Hooks,
    NotSupportedError,
    ProviderError,
    registry,
)
from doc_processing_toolkit.agent.schema import find_problem
from doc_processing_toolkit.agent.settings import setting_names
from doc_processing_toolkit.core.result import AgentResult
from doc_processing_toolkit.dialects.chat import ChatLens
from doc_processing_toolkit.dialects.documents import document_part, documents_of, question_of, question_part
from doc_processing_toolkit.providers.base import Access, make_adapter
from doc_processing_toolkit.testing import ToolUse, scripted_agent

DEMO = "local/gemma-3-270m"
KEYWORDS = [
    "instructions", "tools", "api_key", "base_url", "session_history_config", "compaction", "compaction_config",
    "media_policy", "media_store", "media_max_inline_bytes", "on_unsupported_part", "max_tool_result_chars",
    "truncated_result_read_chars", "tool_choice", "parallel_tool_calls", "max_iterations", "max_output_tokens",
    "temperature", "thinking", "effort", "max_retries", "timeout", "hooks", "mcp_servers", "strict_prefix_binding",
    "prefix_strip_fallback", "anthropic_block_binding", "reuse_anthropic_container", "stream_history",
]  # fmt: skip


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def test_importing_the_package_loads_no_sdk_no_qt_and_no_network_client() -> None:
    code = (
        "import sys, doc_processing_toolkit, doc_processing_toolkit.testing as t\n"
        "t.scripted_agent([]).session().to_json()\n"
        "doc_processing_toolkit.Agent('local/gemma-3-270m')\n"
        "heavy = {'openai', 'anthropic', 'google', 'httpx2', 'PySide6', 'qasync', 'keyring', 'pydantic', 'yaml'}\n"
        "print(sorted(heavy & {name.partition('.')[0] for name in sys.modules}))\n"
    )
    app = Path(doc_processing_toolkit.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=app, env={"PYTHONPATH": str(app)}, check=True
    )
    assert done.stdout.strip() == "[]"


def test_every_name_of_the_public_contract_is_there() -> None:
    names = (
        "Agent AgentBuilder AgentSession AgentResult CostRecord MediaUpload Tool Hooks RunHandle MediaStore "
        "DirectoryMediaStore AgentError AgentResultError ProviderError SessionCompatibilityError "
        "UnsupportedPartError ToolError EnvelopeError events"
    )
    for name in names.split():
        assert hasattr(doc_processing_toolkit, name)
    assert doc_processing_toolkit.__version__ == scripted_agent([]).session().to_dict()["toolkit_version"]


def test_the_constructor_takes_exactly_the_keywords_of_the_contract() -> None:
    assert list(AgentBuilder.KEYWORDS) == KEYWORDS
    with pytest.raises(TypeError):
        Agent(DEMO, temprature=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("media_policy", "nowhere"),
        ("on_unsupported_part", "ignore"),
        ("effort", "extreme"),
        ("stream_history", "heavy"),
        ("anthropic_block_binding", "keep"),
        ("max_iterations", 0),
        ("max_iterations", True),
        ("max_output_tokens", -1),
        ("max_retries", -1),
        ("max_retries", 1.5),
        ("timeout", 0),
        ("timeout", "60"),
        ("timeout", float("nan")),
        ("temperature", "hot"),
        ("temperature", -0.1),
        ("thinking", 0),
        ("thinking", "yes"),
        ("tool_choice", "add"),
        ("instructions", 5),
        ("hooks", lambda: 1),
        ("base_url", "127.0.0.1:8080"),
        ("base_url", "http://"),
        ("base_url", "http://[::1"),
        ("base_url", "http://user:secret@host/v1"),
        ("base_url", 5),
        ("api_key", 5),
        ("api_key", "sk-\n"),
        ("media_max_inline_bytes", -1),
        ("max_tool_result_chars", -1),
    ],
)
def test_settings_that_cannot_be_are_refused_and_named(name: str, value: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=name) as caught:
        Agent(DEMO, **{name: value})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mcp_servers", [{"command": "server"}]),
    ],
)
def test_what_this_version_cannot_do_yet_says_so(name: str, value: Any) -> None:
    with pytest.raises(NotSupportedError, match=f"does not do {name} yet"):
        Agent(DEMO, **{name: value})


def test_a_setting_that_the_row_does_not_take_is_left_out_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    agent = Agent(DEMO, effort="high", thinking=True, temperature=0.3, prefix_strip_fallback=True)
    assert agent.settings.temperature == 0.3
    assert len(caplog.records) == 1
    assert "does not take effort, prefix_strip_fallback, thinking" in caplog.text


def test_settings_that_ask_for_nothing_warn_of_nothing(caplog: pytest.LogCaptureFixture) -> None:
    Agent(DEMO, prefix_strip_fallback=False, reuse_anthropic_container=False, parallel_tool_calls=True)
    assert caplog.records == []


def test_the_demo_row_is_what_the_documents_of_the_project_say() -> None:
    row = registry.find(DEMO)
    assert row.label == "Local demo model"
    assert (row.provider, row.dialect, row.context_window) == ("local", "chat", 16384)
    assert row.stop == ("\nUser:", "\nConversation", "\nQuestion:")
    assert (row.default_temperature, row.input_types) == (0.0, ("text",))
    assert row in registry.rows()
    assert not row.produces_preserved_thinking_blocks


def test_a11_rows_are_made_for_ids_that_name_their_provider() -> None:
    compatible = registry.find("openai-compatible/org/model:7b")
    assert (compatible.provider, compatible.model, compatible.label) == (
        "openai-compatible",
        "org/model:7b",
        "org/model:7b",
    )
    own = registry.find("local//models/My Model.Q4.gguf")
    assert (own.provider, own.weights, own.label) == ("local", "/models/My Model.Q4.gguf", "My Model.Q4")


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        ("local/gemma-3-27m", "close matches: local/gemma-3-270m"),
        ("gemma-3-270m", "local/gemma-3-270m"),
        ("nonsense", "openai-compatible/<id>"),
        ("openai-compatible/", "openai-compatible/<id>"),
        ("local/model.bin", "known|close"),
        ("", "known models"),
    ],
)
def test_an_unknown_model_is_a_value_error_that_helps(model: str, hint: str) -> None:
    with pytest.raises(ValueError, match=hint):
        Agent(model)
    with pytest.raises(TypeError):
        Agent(5)  # type: ignore[arg-type]


def test_a_provider_without_an_adapter_is_named_at_the_first_request() -> None:
    row = registry.ModelRow(id="x", provider="elsewhere", model="x", dialect="chat", label="X")
    with pytest.raises(ProviderError, match="does not speak to elsewhere yet"):
        make_adapter(row, Access())


def test_a08_a_recipe_makes_the_same_agent_again(tmp_path: Path) -> None:
    agent = Agent(
        "openai-compatible/m",
        instructions="Be brief.\nUnicode: ä✓",
        base_url="http://127.0.0.1:8080/v1",
        api_key="sk-secret",
        tools=[add],
        hooks=Hooks(tool_call=lambda what, handle: None),
        media_store=tmp_path / "media",
        media_max_inline_bytes=None,
        session_history_config={"mode": "no_reasoning"},
        temperature=0.5,
        max_retries=0,
        stream_history="native",
    )
    recipe = agent.to_config()
    assert "sk-secret" not in yaml.safe_dump(recipe)
    assert recipe["unserialisable"] == ["tools: add", "hooks: tool_call"]
    again = Agent.from_config_string(yaml.safe_dump(recipe), tools=[add], hooks=agent.settings.hooks)
    assert again.settings == agent.settings
    assert again.row == agent.row
    assert again.access.base_url == agent.access.base_url
    assert isinstance(again.media_store, DirectoryMediaStore)
    assert again.media_store.path == tmp_path / "media"
    path = tmp_path / "agent.yaml"
    path.write_text("\ufeff" + yaml.safe_dump(recipe, allow_unicode=True), "utf-8")
    for source in (path, str(path), recipe):
        assert Agent.from_config(source, tools=[add]).settings.temperature == 0.5


def test_a08_a_store_of_the_hosts_own_is_listed_as_unserialisable() -> None:
    class Store:
        def put(self, sha256: str, mime_type: str | None, data: bytes) -> str:
            return sha256

        def get(self, ref: str) -> bytes:
            return b""

    assert Agent(DEMO, media_store=Store()).to_config() == {"model": DEMO, "unserialisable": ["media_store"]}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "must be a mapping"),
        ("- a", "must be a mapping"),
        ("instructions: x", "names no model"),
        ("model: 5", "names no model"),
        ("model: local/gemma-3-270m\nhooks: x", "the key 'hooks'"),
        ("model: local/gemma-3-270m\ntemprature: 1", "the key 'temprature'"),
        ("model: [", "not valid YAML"),
        ("model: !!python/object:os.system x", "not valid YAML"),
        ("model: a\x00b", "not valid YAML"),
    ],
)
def test_a08_a_recipe_that_is_none_says_what_is_wrong(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Agent.from_config_string(text)


def test_the_builder_has_a_method_per_keyword() -> None:
    builder = AgentBuilder(DEMO)
    for name in (*setting_names(), "tools", "base_url", "api_key", "media_store"):
        assert callable(getattr(builder, name))
    agent = builder.instructions("Be kind.").temperature(0.2).tools([add]).build()
    assert (agent.settings.instructions, agent.settings.temperature, list(agent.tools)) == ("Be kind.", 0.2, ["add"])
    with pytest.raises(AttributeError):
        builder.temprature(1)
    with pytest.raises(ValueError, match="media_policy"):
        AgentBuilder(DEMO).media_policy("x").build()


class Person(pydantic.BaseModel):
    name: str
    age: int


SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(("schema", "output"), [(Person, Person(name="A", age=3)), (SCHEMA, {"name": "A", "age": 3})])
def test_a10_a_structured_answer_is_given_as_asked_and_stored_as_json(schema: Any, output: Any) -> None:
    session = scripted_agent(['{"name": "A", "age": 3}']).session()
    result = asyncio.run(session.run("who?", output_schema=schema))
    assert result.output == output
    assert session.messages[-1] == {"role": "assistant", "content": '{"name": "A", "age": 3}'}


@pytest.mark.parametrize("schema", [Person, SCHEMA])
@pytest.mark.parametrize("reply", ['{"name": "A"}', '{"name": "A", "age": "old"}', "no json", "", "[1]"])
def test_a10_an_answer_of_another_form_is_an_error_when_asking_once_more_does_not_help(schema: Any, reply: str) -> None:
    agent = scripted_agent([reply, reply])
    session = agent.session()
    result: AgentResult = asyncio.run(session.run("who?", output_schema=schema))
    assert result.output is None
    assert result.error
    assert result.error_code == "output_schema"
    assert session.messages == []
    assert session.interrupted_turn is not None
    assert len(agent.requests) == 2


@pytest.mark.parametrize("schema", [Person, SCHEMA])
@pytest.mark.parametrize("reply", ['{"name": "A"}', "no json", "", "[1]"])
def test_a10_a_wrong_answer_is_repaired_once_and_the_detour_is_not_stored(schema: Any, reply: str) -> None:
    agent = scripted_agent([reply, '{"name": "A", "age": 3}'])
    session = agent.session()
    result: AgentResult = asyncio.run(session.run("who?", output_schema=schema))
    assert result.error is None
    assert [message["content"] for message in session.messages] == ["who?", '{"name": "A", "age": 3}']
    assert "That answer cannot be used" in agent.requests[1].messages[-1]["content"]
    assert (len(result.cost_records), result.retry_count) == (2, 0)
    assert session.run_boundaries == [{"run": 1, "start": 0, "end": 2}]


def test_a10_tools_that_were_called_for_a_repair_stay_in_the_history() -> None:
    def look() -> str:
        return "3"

    agent = scripted_agent(["no json", [ToolUse("look")], '{"name": "A", "age": 3}'], tools=[look])
    session = agent.session()
    assert asyncio.run(session.run("who?", output_schema=SCHEMA)).output == {"name": "A", "age": 3}
    assert [message["role"] for message in session.messages] == [
        *("user", "assistant", "user", "assistant", "tool", "assistant")
    ]


def test_a10_a_schema_that_is_none_is_refused_before_anything_leaves() -> None:
    agent = scripted_agent(["x"])
    with pytest.raises(TypeError, match="output_schema"):
        asyncio.run(agent.run("q", output_schema="string"))
    assert agent.requests == []


@pytest.mark.parametrize(
    ("value", "schema", "problem"),
    [
        (1, {"type": ["string", "null"]}, "of type string or null"),
        (None, {"type": ["string", "null"]}, None),
        (True, {"type": "integer"}, "integer"),
        (2.0, {"type": "integer"}, None),
        ("b", {"enum": ["a"]}, "one of"),
        (
            {"a": {"b": [1, "x"]}},
            {"properties": {"a": {"properties": {"b": {"items": {"type": "integer"}}}}}},
            r"a\.b\[1\]",
        ),
        ({"x": 1}, {"additionalProperties": False}, "answer.x must not be there"),
        (5, {"anyOf": [{"type": "string"}, {"minimum": 6}]}, "fits 0"),
        (5, {"oneOf": [{"type": "integer"}, {"minimum": 3}]}, "fits 2"),
        ({"a": "x"}, {"$ref": "#/$defs/t", "$defs": {"t": {"properties": {"a": {"type": "integer"}}}}}, "answer.a"),
        ("abc", {"maxLength": 2}, "at most 2"),
        ("abc", {"pattern": "^x"}, "must match"),
        ([1], {"minItems": 2}, "at least 2"),
        ({"a": 1}, {"$ref": "#"}, None),
    ],
)
def test_a10_the_schema_check_names_the_place(value: Any, schema: dict[str, Any], problem: str | None) -> None:
    found = find_problem(value, schema)
    if problem is None:
        assert found is None
    else:
        assert found is not None
        assert re.search(problem, found)


def test_documents_stand_in_the_question_and_the_bare_question_is_found_again() -> None:
    lens = ChatLens()
    demo = registry.find(DEMO)
    other = registry.find("openai-compatible/m")
    for row, name in ((demo, ""), (other, "a “b”.pdf")):
        text = "Document: inner\n\nQuestion: not this one\n{braces}"
        parts = [
            document_part(row, "a “b”.pdf", text),
            document_part(row, "a “b”.pdf", "second"),
            question_part(row, "Who built {it}?", has_documents=True),
        ]
        message = lens.user_message(parts)
        assert question_of(message) == "Who built {it}?"
        assert [(part.name, part.text) for part in documents_of(message)] == [(name, text), (name, "second")]
    assert lens.user_message([document_part(demo, "n", "T"), question_part(demo, "Q", has_documents=True)]) == {
        "role": "user",
        "content": [{"type": "text", "text": "Document: T"}, {"type": "text", "text": "Question: Q"}],
    }
    assert question_of({"role": "user", "content": "Question: as typed"}) == "Question: as typed"
    assert question_of({"role": "user", "content": [{"type": "text", "text": "plain"}]}) == "plain"
    assert question_of({"role": "user", "content": None}) == ""
