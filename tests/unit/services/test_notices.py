"""Every typed error has a notice; none shows a secret."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import get_args

import pytest

from doc_processing_toolkit.core import errors as toolkit_errors
from doc_processing_toolkit.core.errors import (
    AgentError,
    DocumentError,
    DocumentErrorCode,
    EnvelopeError,
    ProviderError,
)
from turnleaf.services import errors as service_errors
from turnleaf.services.errors import (
    CheckpointError,
    ConversationDamagedError,
    JournalError,
    ModelUnavailableError,
    SaveFileError,
    ServiceError,
)
from turnleaf.services.notice_table import TABLE
from turnleaf.services.notices import MAX_DETAILS, details_of, notice_of

PLACE = Path("/somewhere/chat.json")
FULL = OSError(errno.ENOSPC, "No space left on device")


def leaves(root: type[Exception]) -> list[type[Exception]]:
    return [root, *(leaf for child in root.__subclasses__() for leaf in leaves(child))]


def test_every_error_of_both_trees_is_in_the_table() -> None:
    known = [kind for root in (ServiceError, AgentError) for kind in leaves(root)]
    for kind in known:
        if kind is ServiceError or kind.__module__ not in (toolkit_errors.__name__, service_errors.__name__):
            continue
        assert any(issubclass(kind, rule.kind) for rule in TABLE if rule.holds is None), kind


@pytest.mark.parametrize("code", get_args(DocumentErrorCode))
def test_each_reason_for_refusing_a_file_has_its_own_words_with_the_files_name(code: DocumentErrorCode) -> None:
    notice = notice_of(DocumentError("full sentence", code=code, name="paper.pdf"))

    assert notice.id not in ("document", "agent", "unexpected")
    assert "paper.pdf" in notice.text
    assert notice.severity == "warning"


@pytest.mark.parametrize(
    ("error", "notice_id"),
    [
        (CheckpointError("x", path=PLACE, cause=FULL), "not_saved_disk_full"),
        (CheckpointError("x", path=PLACE, cause=OSError(errno.EIO, "I/O error")), "not_saved"),
        (JournalError("x", path=PLACE, cause=FULL), "not_sent_disk_full"),
        (SaveFileError("x", path=PLACE, cause=FULL), "file_not_saved"),
        (EnvelopeError("/a/x.json: is empty"), "not_a_conversation"),
        (ConversationDamagedError("x", session_id="a", generation=PLACE), "conversation_damaged"),
        (ConversationDamagedError("x", session_id="a", generation=None), "conversation_lost"),
        (ModelUnavailableError("the file is gone.", model_id="m"), "model_unavailable"),
        (ProviderError("x", provider="local", code="context_length_exceeded"), "too_long"),
        (ProviderError("x", provider="openai-compatible", status=401), "key_refused"),
        (ProviderError("x", provider="openai-compatible", status=429, retry_after=12.2), "rate_limited"),
        (ProviderError("x", provider="openai-compatible", code="connection"), "unreachable"),
        (ProviderError("x", provider="local"), "provider"),
        (ZeroDivisionError("x"), "unexpected"),
    ],
)
def test_an_error_has_the_notice_that_helps(error: Exception, notice_id: str) -> None:
    notice = notice_of(error)

    assert notice.id == notice_id
    assert notice.text.strip()
    assert "{" not in notice.text
    if notice_id == "not_a_conversation":
        assert notice.text.startswith("x.json is not")
    if notice_id == "rate_limited":
        assert notice.arguments["wait_seconds"] == "13"


def test_details_name_the_causes_bounded_and_without_secrets() -> None:
    key = "sk-ant-" + "a1b2c3d4" * 5
    error = ProviderError(f"refused {key}", provider="anthropic")
    error.__cause__ = OSError(f"Authorization: Bearer {key} " + "x" * 10_000)

    details = details_of(error)

    assert key not in details
    assert "ProviderError: refused" in details
    assert "OSError" in details
    assert len(details) <= MAX_DETAILS


def test_an_error_whose_words_have_braces_is_shown_as_it_is() -> None:
    notice = notice_of(ModelUnavailableError("the file {x} is {gone}.", model_id="{m}"))
    assert notice.text == "{m} cannot be used: the file {x} is {gone}."


def test_an_error_without_a_notice_of_its_own_is_in_the_log_that_the_notice_speaks_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    notice = notice_of(ZeroDivisionError("halves of nothing"))
    assert notice.id == "unexpected"
    assert "halves of nothing" in caplog.text
