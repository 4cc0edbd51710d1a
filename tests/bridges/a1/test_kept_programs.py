"""Compiled agents: kept for the checks and the executor in force, and on the record where they fail."""

from pathlib import Path
from typing import Any

import pytest

from quire.bridges.a1 import Agent, Runtime, Strategy
from quire.programs import ProgramFault
from tests.bridges.a1.coded import BROKEN, PLAIN, Bill, multiply, run, seller, shown, writing

ONE = Strategy(num_candidates=1, max_iterations=1)
LOOPING = "for n in range(3):\n    pass\noutput = {'total': str(lamps)}"


class NoLoops:
    def verify(self, code: str, agent: Agent) -> tuple[bool, str]:
        return "for " not in code, "no loops, please"


class Running:
    """Runs programs with all of Python."""

    def execute(self, code: str, tools: Any = None) -> Any:
        found: dict[str, Any] = {}
        exec(code, found)
        return found["output"]


def test_one_that_is_not_verified_any_more_is_written_anew(tmp_path: Path) -> None:
    async def compiled() -> None:
        for options, code in (({}, LOOPING), ({"verify": NoLoops()}, PLAIN), ({}, PLAIN)):
            runtime = writing(code, strategy=ONE, cache_dir=tmp_path, **options)
            assert (await runtime.aot(seller())).code == code

    run(compiled())


def test_one_that_was_kept_for_an_executor_is_no_other_executors(tmp_path: Path) -> None:
    importing = "import statistics\noutput = {'total': str(statistics.mean([lamps]))}"

    async def compiled(code: str, **options: Any) -> str:
        runtime = writing(code, strategy=ONE, cache_dir=tmp_path, **options)
        kept = await runtime.aot(seller())
        assert isinstance(await kept(lamps=3), Bill)
        return kept.code

    async def all_of_them() -> None:
        assert await compiled(importing, executor=Running()) == importing
        assert await compiled(PLAIN) == PLAIN
        assert await compiled("output = 1", executor=Running()) == importing, "it is found again"

    run(all_of_them())


class First:
    def generate(self, task: str) -> str:
        return PLAIN


class Second:
    def generate(self, task: str) -> str:
        return LOOPING


def test_one_that_a_strategy_wrote_is_no_other_strategys(tmp_path: Path) -> None:
    async def compiled() -> None:
        for writer, code in ((First(), PLAIN), (Second(), LOOPING), (First(), PLAIN)):
            runtime = Runtime(generate=writer, strategy=ONE, cache_dir=tmp_path)
            assert (await runtime.aot(seller())).code == code
        assert len([*tmp_path.rglob("*.py")]) == 2

    run(compiled())


def test_what_a_compiled_tool_called_before_it_failed_is_in_an_attempt() -> None:
    async def called() -> Runtime:
        runtime = writing(f"await multiply(a=1, b=1)\n{BROKEN}", strategy=ONE)
        compiled = await runtime.aot(seller(multiply), cache=False)
        for call in (compiled, compiled.execute):
            with pytest.raises(ProgramFault, match=r"multiply \(1 done\)"):
                await call(lamps=3)
        return runtime

    runtime = run(called())
    assert set(runtime.CTX) == {"main", "attempt_a", "attempt_b", "attempt_c"} and not runtime.CTX["main"]
    for name in ("attempt_b", "attempt_c"):
        told = shown(runtime.CTX[name])[3:5]
        assert told == [("assistant", 'multiply {"a": 1, "b": 1}'), ("tool", {"product": 1})]
