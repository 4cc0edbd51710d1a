"""Kept programs that fail after they did something: not again and again."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from quire.agent import tool
from quire.programs import Coder, Event, ProgramFault, SetAside, Task
from tests.programs.coding import coder_of, run

charged = list[str]()


@tool
async def charge(customer: str) -> Any:
    """Charge a customer."""
    charged.append(customer)
    return 9.5 if customer == "bo" else "9.50 EUR"


CHARGING = "output = await charge(customer)"


@pytest.fixture(autouse=True)
def nobody_is_charged() -> None:
    charged.clear()


def billing() -> Task:
    return Task("bill", input={"customer": str}, output=float, tools=[charge])


async def failed(coder: Coder, match: str = "does not fit", tell: Any = None) -> None:
    kept = await coder.keep(billing())
    with pytest.raises(ProgramFault, match=match):
        await kept.run(customer="ana", tell=tell)


def test_twice_in_a_row_sets_it_aside_whoever_runs_it(tmp_path: Path) -> None:
    async def work() -> None:
        events: list[Event] = []
        await failed(coder_of(CHARGING, kept=tmp_path))
        await failed(coder_of(kept=tmp_path), tell=events.append)
        assert any(isinstance(event, SetAside) for event in events)
        assert [one.suffix for one in tmp_path.iterdir()] == [".1"]
        kept = await coder_of("output = 1.0", kept=tmp_path).keep(billing())
        assert await kept(customer="ana") == 1.0 and charged == ["ana", "ana"]

    run(work)


@pytest.mark.parametrize("has_folder", [True, False])
def test_who_has_it_still_calls_nothing_by_it(tmp_path: Path, has_folder: bool) -> None:
    async def work() -> None:
        coder = coder_of(CHARGING, CHARGING, kept=tmp_path if has_folder else None)
        kept = await coder.keep(billing())
        for match in ("does not fit", "does not fit", "kept no longer", "kept no longer"):
            with pytest.raises(ProgramFault, match=match):
                await kept(customer="ana")
        assert charged == ["ana", "ana"]
        await failed(coder)  # it was written anew, and may try again
        assert charged == ["ana"] * 3

    run(work)


def test_once_it_stays_and_an_answer_that_fits_makes_up_for_it(tmp_path: Path) -> None:
    async def work() -> None:
        path = (await coder_of(CHARGING, kept=tmp_path).keep(billing())).path
        for _ in range(3):
            kept = await coder_of(kept=tmp_path).keep(billing())
            with pytest.raises(ProgramFault, match="does not fit"):
                await kept(customer="ana")
            assert await kept(customer="bo") == 9.5
        assert [*tmp_path.iterdir()] == [path]

    run(work)


def test_one_that_did_nothing_stays(tmp_path: Path) -> None:
    async def work() -> None:
        task = Task("echo", input={"value": Any}, output=float)
        kept = await coder_of("output = value", kept=tmp_path).keep(task)
        for _ in range(3):
            with pytest.raises(ProgramFault, match="does not fit"):
                await kept(value="x")
        assert [*tmp_path.iterdir()] == [kept.path]

    run(work)


LOSING = """
jobs = [charge(one) for one in customers]
done = 0
for job in jobs:
    await job
    done += 1
    if done == limit:
        break
output = done
"""


def charging() -> Task:
    return Task("bills", input={"customers": list[str], "limit": int}, output=int, tools=[charge])


@pytest.mark.parametrize("has_folder", [True, False])
def test_one_that_lost_calls_twice_in_a_row_is_run_no_more(tmp_path: Path, has_folder: bool) -> None:
    async def work() -> None:
        coder = coder_of(LOSING, LOSING, kept=tmp_path if has_folder else None)
        kept = await coder.keep(charging())
        assert await kept(customers=["ana", "bo"], limit=2) == 2
        charged.clear()
        for _ in range(2):
            with pytest.raises(ProgramFault, match="never awaited") as lost:
                await kept(customers=["ana", "bo", "cy"], limit=2)
            assert lost.value.has_acted and lost.value.kind == "types"
        assert charged == ["ana", "bo"] * 2
        for called in (kept, kept.run, kept.within(coder.session).run):
            with pytest.raises(ProgramFault, match=r"was not run.*never awaited.*have another") as refused:
                await called(customers=["ana", "bo"], limit=2)
            assert refused.value.kind == "types" and not refused.value.has_acted
            assert "had called" not in str(refused.value)
        assert charged == ["ana", "bo"] * 2
        kept = await coder.keep(charging())  # it was written anew, and may try again
        assert await kept(customers=["cy"], limit=2) == 1

    run(work)


def test_one_that_lost_calls_once_stays_and_each_time_it_is_told(tmp_path: Path) -> None:
    async def work() -> None:
        path = (await coder_of(LOSING, kept=tmp_path).keep(charging())).path
        for _ in range(3):
            kept = await coder_of(kept=tmp_path).keep(charging())
            with pytest.raises(ProgramFault, match="never awaited"):
                await kept(customers=["ana", "bo", "cy"], limit=2)
            assert await kept(customers=["ana"], limit=2) == 1
        assert [*tmp_path.iterdir()] == [path]

    run(work)


def test_one_that_lost_calls_and_then_has_no_answer_is_told_of_rightly() -> None:
    async def work() -> None:
        both = "calls = [charge(one) for one in customers]\nfor call in calls[:1]:\n    found = await call\n"
        kept = await coder_of(f"{both}output = found").keep(charging())
        for customers, match in ((["ana", "bo"], "never awaited"), (["ana"], "does not fit")):
            with pytest.raises(ProgramFault, match=match):
                await kept(customers=customers, limit=1)
        with pytest.raises(ProgramFault, match=r"was not run.*twice in a row no answer"):
            await kept(customers=["ana"], limit=1)

    run(work)


def test_one_that_lacks_something_after_it_acted_is_run_no_more() -> None:
    async def work() -> None:
        lacking = "await charge(customer)\noutput = float(bytes([57]).decode())"
        kept = await coder_of(lacking).keep(billing())
        for match in ("sandbox has only", "was not run"):
            with pytest.raises(ProgramFault, match=match):
                await kept(customer="ana")
        assert charged == ["ana"]

    run(work)


def test_a_run_that_is_under_way_meanwhile_does_not_let_it_go_on() -> None:
    begun, ends = asyncio.Event(), asyncio.Event()

    @tool
    async def wait(n: int) -> int:
        """Wait."""
        if n > 1:
            begun.set()
            await ends.wait()
        return n

    async def work() -> None:
        losing = "calls = [wait(n) for n in numbers]\noutput = await calls[0]"
        task = Task("wait", input={"numbers": list[int]}, output=int, tools=[wait])
        kept = await coder_of(losing).keep(task)
        other = asyncio.create_task(kept.run(numbers=[2]))
        await begun.wait()
        for _ in range(2):
            with pytest.raises(ProgramFault, match="never awaited"):
                await kept(numbers=[1, 1])
        ends.set()
        assert await other == 2
        with pytest.raises(ProgramFault, match="was not run"):
            await kept(numbers=[1])

    run(work)
