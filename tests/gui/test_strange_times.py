"""Times that no clock shows: a file may claim any, and the list is painted all the same."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from turnleaf.services.codec import CodecError, from_plain, within_reach
from turnleaf.ui.conversation_list import day_text

STRANGE = [
    "0001-01-01T00:00:00+14:00",
    "0001-01-01T00:00:00",
    "9999-12-31T23:59:59-14:00",
    "9999-12-31T23:59:59.999999",
]
EASTMOST, WESTMOST = timezone(timedelta(hours=14)), timezone(timedelta(hours=-14))


@pytest.mark.parametrize("text", STRANGE)
def test_time_of_a_file_can_be_told_in_every_zone(text: str) -> None:
    moment = from_plain(datetime, text)
    for zone in (UTC, EASTMOST, WESTMOST):
        assert moment.astimezone(zone) == moment
    assert day_text(moment)


def test_common_time_is_left_as_it_is() -> None:
    moment = datetime(2026, 11, 29, 15, 0, tzinfo=EASTMOST)
    assert within_reach(moment) is moment
    with pytest.raises(CodecError):
        from_plain(datetime, "yesterday")


@pytest.mark.parametrize("text", STRANGE)
def test_time_that_cannot_be_told_here_is_still_shown(text: str) -> None:
    assert day_text(datetime.fromisoformat(text))
