"""How models are named: rows, providers with ids, and what a wrong id is told (A01, A11)."""

from __future__ import annotations

import pytest

from doc_processing_toolkit import registry


@pytest.mark.parametrize(
    ("model_id", "provider", "model", "dialect"),
    [
        ("openai/gpt-9-nova", "openai", "gpt-9-nova", "openai"),
        ("anthropic/claude-next", "anthropic", "claude-next", "anthropic"),
        ("fireworks/accounts/me/models/mine", "fireworks", "accounts/me/models/mine", "chat"),
        ("openai-compatible/org/model:tag", "openai-compatible", "org/model:tag", "chat"),
    ],
)
def test_a11_a_model_that_the_registry_lacks_is_named_with_its_provider(
    model_id: str, provider: str, model: str, dialect: str
) -> None:
    row = registry.find(model_id)
    assert (row.id, row.provider, row.model, row.dialect) == (model_id, provider, model, dialect)
    assert row.max_output_tokens is None
    assert row.takes_setting("tools")


def test_a11_a_known_model_named_with_its_provider_is_its_row() -> None:
    assert registry.find("anthropic/claude-haiku-4-5") is registry.find("claude-haiku-4-5")
    assert registry.find("openai/gpt-6-luna") is registry.find("gpt-6-luna")


@pytest.mark.parametrize("version", ["claude-opus-5-5-20270101", "claude-opus-5-5-latest"])
def test_a11_a_version_of_a_known_model_has_its_facts(version: str) -> None:
    row, kin = registry.find(f"anthropic/{version}"), registry.find("claude-opus-5-5")
    assert (row.id, row.model) == (f"anthropic/{version}", version)
    assert row.produces_preserved_thinking_blocks
    assert row.context_window == kin.context_window


@pytest.mark.parametrize(
    "wrong", ["claude-haiku-4.5", "antropic/claude-haiku-4-5", "openai/", "openai", "", "/", "local/", "local/x", " "]
)
def test_a01_a_wrong_id_is_told_the_close_matches(wrong: str) -> None:
    with pytest.raises(ValueError, match="unknown model"):
        registry.find(wrong)


def test_a01_close_matches_are_named() -> None:
    with pytest.raises(ValueError, match="claude-haiku-4-5"):
        registry.find("claude-haiku-4.5")
