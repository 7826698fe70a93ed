"""Secrets do not reach a log, a file or a details panel (G07)."""

from __future__ import annotations

import pytest

from turnleaf.services.redaction import redact, without_secrets

TAIL = "Ab3dEf6hIj9l"
# Put together here, so that no scanner takes this file for a leak.
SECRETS = [
    f"sk-ant-api03-{TAIL * 3}",
    f"sk-proj-{TAIL * 2}_{TAIL}",
    f"sk-{TAIL * 4}",
    f"AIza{TAIL * 3}",
    f"fw_{TAIL * 2}",
    f"hf_{TAIL * 3}",
    f"ghp_{TAIL * 3}",
    f"eyJ{TAIL}.eyJ{TAIL}.{TAIL}",
]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize(
    "line",
    [
        "{}",
        "Authorization: Bearer {}",
        "key {} was refused",
        '{{"api_key": "{}"}}',
        "http://host/v1?key={}&x=1",
        "'{}'",
    ],
)
def test_a_key_of_a_known_shape_never_stays(secret: str, line: str) -> None:
    text = redact(line.format(secret))

    assert secret not in text
    assert TAIL not in text
    assert "redacted" in text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Authorization: Bearer short-opaque-123", "short-opaque-123"),
        ("Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ("{'x-api-key': 'abc123'}", "abc123"),
        ("api_key=abc123, model=x", "abc123"),
        ('"apiKey": "abc123"', "abc123"),
        ("password: hunter2", "hunter2"),
        ("http://alice:hunter2@host:8080/v1", "hunter2"),
        ("GET /v1/models?token=abc123", "abc123"),
    ],
)
def test_a_secret_in_a_named_place_never_stays(text: str, secret: str) -> None:
    assert secret not in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "the model takes 1200 tokens",
        "turn 3 ends inside a tool round; truncate before it first",
        "cannot reach http://127.0.0.1:8080/v1 (connection refused)",
        "max_output_tokens=512 temperature=0.0",
        "a basic question",
        "the bearer certificates of the bank",
        "sha256 0f343b0931126a20f133d67c2b018a3b0f343b0931126a20f133d67c2b018a3b",
        "risk-assessment-for-the-new-bridge.pdf",
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    assert redact(text) == text


def test_a_recipe_loses_its_keys_at_any_depth_and_nothing_else() -> None:
    recipe = {
        "model": "openai-compatible/x",
        "base_url": "http://user:pw@host/v1",
        "api_key": "abc",
        "max_output_tokens": 5,
        "compaction_config": {"trigger_tokens": 7, "keep_recent_messages": 8},
        "mcp_servers": [{"name": "git", "headers": {"Authorization": "x"}, "env": {"GITHUB_TOKEN": "y", "HOME": "/h"}}],
    }

    assert without_secrets(recipe) == {
        "model": "openai-compatible/x",
        "base_url": "http://[redacted]@host/v1",
        "max_output_tokens": 5,
        "compaction_config": {"trigger_tokens": 7, "keep_recent_messages": 8},
        "mcp_servers": [{"name": "git", "env": {"HOME": "/h"}}],
    }
