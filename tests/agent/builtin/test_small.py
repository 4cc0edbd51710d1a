"""The clock."""

import pytest

from quire.agent.builtin import ask_user, current_time, time_tools
from quire.errors import InvalidValue
from quire.items import use_clock


def test_the_time_in_zones() -> None:
    with use_clock(lambda: 1_784_116_800.0):
        for zone, words in (
            ("UTC", "Wednesday, 2026-07-15T12:00:00+00:00 (UTC)"),
            (" utc ", "Wednesday, 2026-07-15T12:00:00+00:00 (UTC)"),
            ("Asia/Tokyo", "Wednesday, 2026-07-15T21:00:00+09:00 (Asia/Tokyo)"),
            ("Europe/Berlin", "Wednesday, 2026-07-15T14:00:00+02:00 (Europe/Berlin)"),
        ):
            assert current_time(zone) == words
        assert current_time("local").endswith("(local time)")


def test_what_is_no_zone_is_refused() -> None:
    for zone in ("Tokio", "Europe", "../../etc/passwd", "/etc/localtime", "", "x" * 9_999, "\0"):
        with pytest.raises(InvalidValue, match="no time zone is called"):
            current_time(zone)


def test_the_tools() -> None:
    assert [one.name for one in time_tools()] == ["current_time"] and ask_user.asks_person
