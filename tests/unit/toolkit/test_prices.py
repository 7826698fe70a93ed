"""What requests cost: known answers, tiers, and what is not known (A03)."""

from __future__ import annotations

import asyncio
import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from doc_processing_toolkit import events, registry
from doc_processing_toolkit.agent import prices
from doc_processing_toolkit.core.usage import TokenUsage
from support.strict import Call, Ending, Fail, StrictServer, Usage, answer, checked_server
from unit.toolkit.dialect_agents import agent_of

APP = Path(__file__).parents[3] / "app"


@pytest.fixture(autouse=True)
def _loaded() -> None:
    asyncio.run(prices.load_prices())


def cost(model: str, *counts: int, served: str = "") -> float:
    return prices.price(registry.find(model), TokenUsage(*counts), served)[0]


def test_a03_the_known_answer_of_a_cached_prompt() -> None:
    """20,212 input tokens of which 16,298 are cached, 931 output, at 0.50, 0.05 and 3 dollars a million."""
    row = dataclasses.replace(registry.find("claude-haiku-4-5"), provider="google", model="gemini-3-flash-preview")
    assert prices.price(row, TokenUsage(20_212, 931, 16_298)) == (pytest.approx(0.0055649, abs=1e-12), True)


def test_a03_the_known_answer_of_a_written_cache() -> None:
    """2,048 fresh, 1,800 read and 248 written tokens are 2,538 units of the input price."""
    assert cost("claude-haiku-4-5", 2_048 + 1_800 + 248, 0, 1_800, 248) == pytest.approx(2_538 * 1e-6, abs=1e-12)


def test_a03_a_long_prompt_is_priced_by_its_tier() -> None:
    short, long = cost("gpt-6-luna", 200_000, 0), cost("gpt-6-luna", 400_000, 0)
    assert long > 2.5 * short


def test_a03_the_model_that_served_is_priced_and_the_row_where_it_is_not_known() -> None:
    assert cost("claude-haiku-4-5", 1000, 0, served="claude-opus-5-5") == cost("claude-opus-5-5", 1000, 0)
    assert cost("claude-haiku-4-5", 1000, 0, served="nobody-knows-it") == cost("claude-haiku-4-5", 1000, 0) > 0


@pytest.mark.parametrize(
    ("model", "known"),
    [("local/gemma-3-270m", True), ("openai-compatible/gpt-4o", False), ("openai/nobody-knows-it", False)],
)
def test_a03_local_models_are_free_and_an_unknown_price_is_zero_and_said_so(model: str, known: bool) -> None:
    assert prices.price(registry.find(model), TokenUsage(1000, 1000)) == (0.0, known)


def test_counts_that_cannot_be_are_priced_as_far_as_they_can_be() -> None:
    assert cost("claude-haiku-4-5", 10, 0, 20, 5) > 0


def test_the_context_window_comes_from_the_prices_where_the_row_has_none() -> None:
    row = registry.find("claude-haiku-4-5")
    assert prices.context_window(dataclasses.replace(row, context_window=None)) == 200_000
    assert prices.context_window(dataclasses.replace(row, context_window=7)) == 7
    assert prices.context_window(registry.find("openai-compatible/gpt-4o")) is None


def test_prices_are_loaded_when_the_first_one_is_needed_and_not_before() -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]);"
        "from doc_processing_toolkit import Agent;"
        "from doc_processing_toolkit.testing import scripted_agent; import asyncio;"
        "Agent('claude-haiku-4-5');"
        "assert asyncio.run(scripted_agent(['a']).run('q')).cost_known;"
        "assert 'genai_prices' not in sys.modules, 'loaded too early'"
    )
    subprocess.run([sys.executable, "-c", script, str(APP)], check=True, timeout=60)


def test_a03_every_request_has_its_record_and_its_usage_event_with_the_cost() -> None:
    """B05 too: the session's totals are the sums."""
    with checked_server() as server:
        server.script(
            answer(Call("add", {"a": 1, "b": 2}), usage=Usage(4_096, 0, cached=1_800, cache_write=248)),
            answer("3", usage=Usage(1_000, 100)),
        )
        session = agent_of("anthropic", server).session()

        async def main() -> list[events.Usage]:
            return [event async for event in session.stream("1 + 2?") if isinstance(event, events.Usage)]

        seen = asyncio.run(main())
    [result] = session.last_turn_results
    assert [event.cost for event in seen] == [record.cost for record in result.cost_records]
    assert seen[0].cost == pytest.approx(0.002538)
    assert seen[1].cost == pytest.approx(0.0015)
    assert (result.cost, result.cost_known) == (pytest.approx(0.004038), True)
    assert session.metadata["total_cost"] == pytest.approx(0.004038)
    assert session.metadata["unpriced_runs"] == 0
    assert (result.input_tokens, result.cached_input_tokens, result.cache_write_tokens) == (5_096, 1_800, 248)


def test_a09_a_retry_is_counted_and_billed_apart() -> None:
    with checked_server() as server:
        server.script(Fail(529), answer("3", usage=Usage(1_000, 100)))
        result = asyncio.run(agent_of("anthropic", server, max_retries=1).run("q"))
    assert (result.retry_count, result.retry_input_tokens, result.retry_output_tokens) == (1, 1_000, 100)
    assert result.retry_cost == result.cost == pytest.approx(0.0015)
    assert [record.is_retry for record in result.cost_records] == [True]


def test_a09_what_failed_attempts_took_is_the_cost_of_the_retry() -> None:
    with StrictServer() as server:
        broken = answer("word " * 20, usage=Usage(500, 50), ending=Ending("no_terminal"))
        server.script(broken, answer("3", usage=Usage(1_000, 100)))
        result = asyncio.run(agent_of("anthropic", server, max_retries=1).run("q"))
    failed, good = result.cost_records
    assert (failed.is_retry, good.is_retry) == (True, False)
    assert (result.retry_count, result.retry_input_tokens) == (1, 500)
    assert result.retry_cost == failed.cost > 0
    assert result.cost == pytest.approx(failed.cost + good.cost)


def test_a09_a_wait_longer_than_a_minute_is_an_error_that_names_the_time() -> None:
    with checked_server() as server:
        server.script(Fail(429, retry_after=90))
        result = asyncio.run(agent_of("anthropic", server, max_retries=3).run("q"))
    assert result.error is not None
    assert "90 s" in result.error
    assert result.retry_count == 0
