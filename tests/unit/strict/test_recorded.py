"""The rules against recorded traffic: no request that a real server took is refused, recorded refusals are."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from support.recorded import recorded_dir
from support.strict.recordings import CHECKS, exchanges, request_of
from support.strict.rule import Violation

# What a recorded refusal says, and the rule that must say the same; `None` = nothing in the request shows it
# (keys, rate limits, the length of texts that the recording leaves out, addresses that could not be fetched, faults
# of the server, what an Azure filter or another provider's model does not like).
REFUSALS: tuple[tuple[str, str | None], ...] = (
    (r"api.key|authenticat|unauthorized|access denied|auth credentials|authorization required|country", None),
    (r"rate limit|request too large|exceeded your current quota|resource has been exhausted", None),
    (r"too long|context length|context window|token count|total text bytes", None),
    (r"error while downloading|unable to download", None),
    (r"content management policy|after role 'assistant'|'vision' capability|API deployment", None),
    (r"^messages\.\d+\.content: input should be a valid list", "W-A13"),
    (r"must have non-empty content", "W-A16"),
    (r"^model: ", "W-A45"),
    (r"did not match any variant|input should be a valid string|invalid message content type", "W-O17"),
    (r"invalid type for|unrecognized request argument", "W-O17"),
    (r"invalid value: '(input_audio|pdf)'", "W-O16"),
    (r"image urls are only allowed for messages with role 'user'", "W-F3"),
    (r"content blocks are expected to be either text or image_url", "W-F10"),
    (r"unsupported an? image|uploaded an unsupported image", "W-O21"),
    (r"unsupported parameter|below minimum value|'response_format' of type", "W-O26"),
    (r"requested model .* does not exist|^the model `|unknown model", "W-O27"),
    (r"invalid schema for function", "W-O24"),
    (r"unknown name", "W-G21"),
    (r"function calling with a response mime type", "W-G23"),
    (r"penalty is not enabled", "X-G1"),
    (r"is not found for api version", "W-G30"),
)
EMULATED = re.compile(r"api\.anthropic\.com|api\.openai\.com|openai\.azure\.com|googleapis\.com|api\.deepseek\.com")
ACCEPTED = {
    "anthropic": 268,
    "openai_responses": 320,
    "openai_chat": 33,
    "gemini": 146,
    "fireworks": 10,
    "compat_chat": 168,
    "compat_responses": 15,
}


def refused(row: dict[str, Any]) -> list[Violation] | None:
    request = request_of(row)
    if request is None:
        return None
    return [violation for violation in CHECKS[request.wire](request) if violation.status is not None]


@pytest.mark.parametrize("name", list(ACCEPTED))
def test_no_request_that_a_real_server_accepted_is_refused(name: str) -> None:
    checked, flagged = 0, []
    for row in exchanges(recorded_dir(), name):
        found = refused(row) if row["status"] < 300 else None
        if found is not None:
            checked += 1
            flagged += [(row["url"], str(violation)) for violation in found]
    assert flagged == []
    assert checked >= ACCEPTED[name]


def words_of(response: Any) -> str:
    error = response.get("error", response) if isinstance(response, dict) else response
    return str(error.get("message") or error) if isinstance(error, dict) else str(error)


def test_recorded_refusals_of_the_covered_kinds_are_refused_by_the_right_rule() -> None:
    covered: Counter[str] = Counter()
    wrong = []
    for row in exchanges(recorded_dir(), "errors"):
        found = refused(row) if 400 <= row["status"] < 500 else None
        if found is None:
            continue
        words = words_of(row["resp"])
        kind = [rule for pattern, rule in REFUSALS if re.search(pattern, words, re.IGNORECASE)]
        assert kind or not EMULATED.search(row["url"]), f"a recorded refusal of no known kind: {words}"
        if kind and kind[0] is not None:
            covered[kind[0]] += 1
            if kind[0] not in [violation.rule for violation in found]:
                wrong.append((words, [str(violation) for violation in found]))
    assert wrong == []
    assert sum(covered.values()) >= 33, covered


def test_the_words_of_refusals_are_the_recorded_ones() -> None:
    same = 0
    for row in exchanges(recorded_dir(), "errors"):
        found = refused(row) if row["status"] in (400, 404) else None
        same += bool(found) and words_of(row["resp"]).startswith(found[0].message[:90] if found else "-")
    assert same >= 20
