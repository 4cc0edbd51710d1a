"""The time, as a model is told."""

import asyncio
import os
import time
from collections.abc import Generator

import pytest

from quire.agent.builtin import time_tools
from quire.agent.builtin.clock import current_time
from quire.agent.tools import run
from quire.errors import InvalidValue
from quire.items import use_clock

WINTER = 1_768_478_400.75  # 2026-01-15, noon in UTC
SUMMER = 1_784_116_800.0  # 2026-07-15, noon in UTC


@pytest.fixture
def winter() -> Generator[None]:
    with use_clock(lambda: WINTER):
        yield


@pytest.mark.parametrize(
    ("zone", "told"),
    [
        ("UTC", "Thursday, 2026-01-15T12:00:00+00:00 (UTC)"),
        (" utc ", "Thursday, 2026-01-15T12:00:00+00:00 (UTC)"),
        ("Europe/Berlin", "Thursday, 2026-01-15T13:00:00+01:00 (Europe/Berlin)"),
        ("Asia/Kathmandu", "Thursday, 2026-01-15T17:45:00+05:45 (Asia/Kathmandu)"),
        ("Pacific/Kiritimati", "Friday, 2026-01-16T02:00:00+14:00 (Pacific/Kiritimati)"),
    ],
)
@pytest.mark.usefixtures("winter")
def test_the_time_in_a_zone(zone: str, told: str) -> None:
    assert current_time(zone) == told


def test_summer_time_is_known() -> None:
    with use_clock(lambda: SUMMER):
        assert current_time("America/New_York") == "Wednesday, 2026-07-15T08:00:00-04:00 (America/New_York)"


@pytest.mark.usefixtures("winter")
def test_local_time_is_that_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.environ.get("TZ")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert current_time("local") == "Thursday, 2026-01-15T21:00:00+09:00 (local time)"
    finally:
        monkeypatch.setenv("TZ", before) if before is not None else monkeypatch.delenv("TZ")
        time.tzset()


@pytest.mark.parametrize(
    ("zone", "near"),
    [
        ("Europe/Berln", "Europe/Berlin"),
        ("berlin", "Europe/Berlin"),
        ("europe/berlin", "Europe/Berlin"),
        ("New York", "America/New_York"),
        ("Tokio", "Asia/Tokyo"),
    ],
)
def test_an_unknown_zone_names_those_that_are_near(zone: str, near: str) -> None:
    with pytest.raises(InvalidValue, match=f"no time zone is called '{zone}'; did you mean .*{near}"):
        current_time(zone)


@pytest.mark.parametrize(
    "zone",
    [
        "",
        "../../../etc/passwd",
        "/etc/localtime",
        "Europe",
        "Europe/../UTC",
        "UTC\x00",
        "posixrules",
        "x" * 9_000,
    ],
)
def test_what_is_no_zone_is_refused_and_leads_nowhere(zone: str) -> None:
    with pytest.raises(InvalidValue, match="no time zone is called") as refused:
        current_time(zone)
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize("moment", [1e18, float("inf"), float("nan")])
def test_a_clock_beyond_all_calendars(moment: float) -> None:
    with use_clock(lambda: moment), pytest.raises(InvalidValue, match="no calendar"):
        current_time()


@pytest.mark.usefixtures("winter")
def test_the_tool_answers_a_model() -> None:
    [clock] = time_tools()
    assert clock.is_idempotent
    outcome = asyncio.run(run(clock, '{"zone": "Asia/Tokyo"}'))
    assert outcome.content == "Thursday, 2026-01-15T21:00:00+09:00 (Asia/Tokyo)"
    refused = asyncio.run(run(clock, '{"zone": "Asia/Tokio"}'))
    assert refused.is_error
    assert "Asia/Tokyo" in str(refused.content)
