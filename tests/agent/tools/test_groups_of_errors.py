"""Errors in groups, as task groups raise them: the model is told what went wrong, and not only how often."""

import asyncio

from tests.agent.tools.running import ran


async def fails(with_what: Exception) -> None:
    raise with_what


def test_the_errors_within_a_group_are_told() -> None:
    async def fetch() -> str:
        """Fetch all."""
        async with asyncio.TaskGroup() as group:
            group.create_task(fails(LookupError("no page of that name")))
            group.create_task(fails(ValueError("a bad address")))
        return "fetched"

    outcome = ran(fetch)
    assert outcome.is_error and outcome.stop_reason == "error"
    assert "LookupError: no page of that name; ValueError: a bad address" in str(outcome.content)


def test_so_are_those_of_groups_within_groups() -> None:
    def fetch() -> str:
        """Fetch all."""
        inner = ExceptionGroup("of one", [KeyError("a"), OSError("b")])
        raise ExceptionGroup("of all", [inner, TypeError("c")])

    assert "KeyError: 'a'; OSError: b; TypeError: c" in str(ran(fetch).content)


def test_many_and_long_ones_are_cut() -> None:
    def fetch() -> str:
        """Fetch all."""
        raise ExceptionGroup("of all", [ValueError(f"{number} " + "x" * 5000) for number in range(1000)])

    told = str(ran(fetch).content)
    assert "ValueError: 4" in told and "ValueError: 5 " not in told and len(told) < 3000
