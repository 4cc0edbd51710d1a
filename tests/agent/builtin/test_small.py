"""The clock."""

from quire.agent.builtin import current_time
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
