"""Programs side by side and within one another: who waits for whom, and what cancelling leaves."""

import asyncio
import gc
from typing import Any

import pytest

from quire.programs.bounds import Bounds
from quire.programs.faults import ProgramFault
from quire.programs.sandbox import Sandbox


async def add(n: int) -> dict[str, int]:
    await asyncio.sleep(0)
    return {"sum": n + 1}


def test_programs_within_programs_do_not_wait_for_one_another() -> None:
    async def nested() -> Any:
        sandbox = Sandbox(workers=1)

        async def inner(n: int) -> Any:
            code = "n" if n == 0 else "await inner(n - 1)"
            return (await sandbox.run(code, inputs={"n": n}, functions={"inner": inner})).value

        return await asyncio.wait_for(inner(4), 30)

    assert asyncio.run(nested()) == 0


def test_many_at_once_are_served_by_few() -> None:
    async def many() -> list[Any]:
        sandbox = Sandbox(workers=2)
        runs = (sandbox.run("await add(n)", inputs={"n": n}, functions={"add": add}) for n in range(10))
        return [one.value["sum"] for one in await asyncio.gather(*runs)]

    assert asyncio.run(many()) == list(range(1, 11))


def test_programs_that_wait_keep_nobody_from_computing() -> None:
    async def all_met() -> list[Any]:
        sandbox, here, everybody = Sandbox(workers=1), 0, asyncio.Event()

        async def meet() -> int:
            nonlocal here
            here += 1
            if here == 12:
                everybody.set()
            await everybody.wait()
            return here

        runs = (sandbox.run("await meet()", functions={"meet": meet}) for _ in range(12))
        return [one.value for one in await asyncio.wait_for(asyncio.gather(*runs), 60)]

    assert asyncio.run(all_met()) == [12] * 12


def test_a_program_may_wait_for_one_that_another_task_runs() -> None:
    async def handed_over() -> Any:
        sandbox, asked = Sandbox(workers=1), asyncio.Queue[asyncio.Future[Any]]()

        async def works() -> None:
            while True:
                answer = await asked.get()
                answer.set_result((await sandbox.run("7")).value)

        async def ask() -> Any:
            answer = asyncio.get_running_loop().create_future()
            await asked.put(answer)
            return await answer

        working = asyncio.create_task(works())
        found = await asyncio.wait_for(sandbox.run("await ask()", functions={"ask": ask}), 60)
        working.cancel()
        return found.value

    assert asyncio.run(handed_over()) == 7


def test_waiting_for_a_place_counts_as_time() -> None:
    async def crowded() -> tuple[ProgramFault, Any, Any]:
        sandbox, begun, gate = Sandbox(programs=1), asyncio.Event(), asyncio.Event()

        async def wait() -> int:
            begun.set()
            await gate.wait()
            return 1

        first = asyncio.create_task(sandbox.run("await wait()", functions={"wait": wait}))
        await begun.wait()
        with pytest.raises(ProgramFault) as raised:
            await sandbox.run("2", bounds=Bounds(wall=0.05))
        later = asyncio.create_task(sandbox.run("3"))
        gate.set()
        return raised.value, (await first).value, (await later).value

    fault, first, later = asyncio.run(crowded())
    assert (fault.kind, first, later) == ("limit", 1, 3)
    assert "0.05 s" in str(fault) and "place" in str(fault)


def test_programs_within_programs_have_an_end() -> None:
    async def endless() -> str:
        sandbox = Sandbox(workers=1)

        async def inner() -> Any:
            return (await sandbox.run("await inner()", functions={"inner": inner})).value

        with pytest.raises(ProgramFault) as raised:
            await asyncio.wait_for(inner(), 60)
        return str(raised.value)

    assert "within programs" in asyncio.run(endless())


@pytest.mark.parametrize("code", ["while True: pass\n1", "await slow()"])
def test_cancelling_over_and_over_leaves_nothing(code: str) -> None:
    async def cancelled() -> tuple[list[Any], Any]:
        complaints: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        sandbox, started = Sandbox(workers=1, programs=1), asyncio.Event()

        async def slow() -> None:
            await asyncio.sleep(60)

        for _ in range(3):
            started.clear()
            run = asyncio.create_task(
                sandbox.run(f"print(1)\n{code}", functions={"slow": slow}, tell=lambda _: started.set())
            )
            await started.wait()
            for _ in range(6):
                run.cancel()
                await asyncio.sleep(0)
            with pytest.raises(asyncio.CancelledError):
                await run
            del run
            gc.collect()
        return complaints, (await sandbox.run("1")).value

    assert asyncio.run(cancelled()) == ([], 1)
