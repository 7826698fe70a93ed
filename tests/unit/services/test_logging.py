"""The log file: private, rotating, without secrets."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from turnleaf.services import logging_setup
from turnleaf.services.logging_setup import LogFile, crash_log_path, set_up_logging
from unit.services.checkpointing import profile_at

KEY = "sk-ant-" + "a1b2c3d4" * 5


@pytest.fixture
def log_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LogFile]:
    # pytest has faulthandler for itself.
    monkeypatch.setattr(logging_setup.faulthandler, "enable", lambda _: None)
    monkeypatch.setattr(logging_setup.faulthandler, "disable", lambda: None)
    log_file = set_up_logging(profile_at(tmp_path))
    yield log_file
    log_file.close()


def test_a_record_is_written_and_its_secrets_are_not(log_file: LogFile) -> None:
    log = logging.getLogger("turnleaf.test")
    log.info("asking %s with key=%s", "http://me:pw@host/v1", KEY)
    try:
        raise ValueError(f"refused {KEY}")
    except ValueError:
        log.exception("failed")

    text = log_file.path.read_text("utf-8")
    assert "INFO turnleaf.test: asking" in text
    assert "ValueError: refused" in text
    assert KEY not in text
    assert "me:pw" not in text
    assert log_file.path.stat().st_mode & 0o777 == 0o600


def test_the_network_libraries_write_no_requests(log_file: LogFile) -> None:
    for name in ("httpx2", "openai._base_client", "httpcore2.http11"):
        logging.getLogger(name).info("POST with a prompt in it")
    assert "prompt" not in log_file.path.read_text("utf-8")


def test_a_long_log_is_rotated_and_what_cannot_be_encoded_disturbs_nothing(
    log_file: LogFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_file._handler, "maxBytes", 2_000)
    for number in range(200):
        logging.getLogger("turnleaf.test").warning("line %d \ud800 %s", number, "é漢")
    names = sorted(path.name for path in log_file.path.parent.glob("turnleaf.log*"))
    assert names == ["turnleaf.log", "turnleaf.log.1", "turnleaf.log.2", "turnleaf.log.3"]
    assert all(path.stat().st_size < 4_000 for path in log_file.path.parent.glob("turnleaf.log*"))


def test_closing_ends_it_and_the_crash_log_is_there(log_file: LogFile, tmp_path: Path) -> None:
    assert crash_log_path(profile_at(tmp_path)).exists()
    log_file.close()
    logging.getLogger("turnleaf.test").error("after the end")
    log_file.close()
    assert "after the end" not in log_file.path.read_text("utf-8")
