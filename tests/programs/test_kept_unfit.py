"""Kept programs whose answers do not fit, after they did something: not again and again."""

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
