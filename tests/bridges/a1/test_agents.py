"""Agents and the runtimes that run them: what is refused, what strategies do, what is kept."""

import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel

from quire.bridges.a1 import LLM, Agent, Context, Cost, Generate, Runtime, Strategy, Verify, aot, jit
from quire.errors import InvalidValue, WrongType
from quire.models import Scripted
from quire.programs import ProgramFailed
from tests.bridges.a1.coded import (
    CALLING,
    PLAIN,
    Bill,
    Order,
    multiply,
    run,
    seller,
    shown,
    writing,
    written,
)

ONE = Strategy(num_candidates=1)


def test_an_agent_without_schemas_takes_and_gives_a_text() -> None:
    agent = Agent()
    assert (agent.name, agent.description, agent.tools, agent.skills) == ("agent", "", (), ())
    runtime = writing("output = {'output': input.upper()}", strategy=ONE)
    assert run(runtime.jit(agent, input="hi")).output == "HI"
    assert run(runtime.jit(agent, question="by any name")).output == "BY ANY NAME"


def test_pydantic_is_imported_when_it_is_needed() -> None:
    code = "import sys, quire.bridges.a1; assert 'pydantic' not in sys.modules; "
    code += "quire.bridges.a1.Agent(); assert 'pydantic' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "wrong",
    [{"input_schema": 3}, {"output_schema": "Bill"}, {"tools": "none"}, {"skills": 3}, {"tools": {"a": 1}}],
)
def test_wrong_arguments_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(WrongType):
        Agent(**wrong)


@pytest.mark.parametrize("wrong", [{"generate": 3}, {"verify": 3}, {"cost": [1]}, {"executor": "mine"}])
def test_wrong_strategies_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(WrongType, match=next(iter(wrong))):
        Runtime(**wrong)


def test_what_cannot_be_run_is_said() -> None:
    with pytest.raises(WrongType, match="Agent"):
        run(writing(PLAIN).jit("seller", lamps=3))  # type: ignore[arg-type]


def test_skills_are_told_to_whoever_writes() -> None:
    class Skill(BaseModel):
        name: str = "Brass"
        content: str = "Brass is dear."

    class Skills(NamedTuple):
        skills: list[Any]

    model = Scripted(written(PLAIN))
    agent = seller(skills=["Be quick.", Skills([Skill()])])
    run(Runtime(generate=model, strategy=ONE).jit(agent, lamps=3))
    asked = str(model.requests[0].payload["messages"])
    assert "Be quick." in asked and "Brass is dear." in asked
    with pytest.raises(InvalidValue, match="skill"):
        seller(skills=[3])


def test_the_runtime_at_work_does_it_too() -> None:
    async def done() -> None:
        with writing(PLAIN, strategy=ONE) as runtime:
            assert await jit(seller(), lamps=3) == Bill(total="15")
            compiled = await aot(seller(), cache=False)
            assert await compiled.execute(lamps=1) == Bill(total="5")
            assert len(runtime.get_context()) == 4

    run(done())


def test_a_model_writes_by_its_tool_too() -> None:
    runtime = Runtime(generate=LLM(Scripted(written(PLAIN))), strategy=ONE)
    assert run(runtime.jit(seller(), lamps=3)) == Bill(total="15")


class Typist(Generate):
    """Writes what it was given to write."""

    def __init__(self, *programs: Any) -> None:
        self.programs = list(programs)
        self.told: list[Any] = []

    async def generate(self, agent: Agent, task: str, past_attempts: Any, context: Context) -> Any:
        """The next program."""
        self.told.append((agent.name, "lamps" in task, len(past_attempts), len(context)))
        return self.programs.pop(0)


def test_a_strategy_writes() -> None:
    typist = Typist(("definitions", "output = 1 +"), None, PLAIN)
    runtime = Runtime(generate=typist, strategy=ONE)
    assert run(runtime.jit(seller(), lamps=3)) == Bill(total="15")
    assert typist.told == [("seller", True, 0, 2), ("seller", True, 1, 4), ("seller", True, 1, 5)]
    assert "output = 1 +" in [message.content for message in runtime.CTX["attempt_a"]]


class Once(Verify):
    """Wants a word in programs."""

    def __init__(self, word: str) -> None:
        self.word = word

    def verify(self, code: str, agent: Agent) -> tuple[bool, str | None]:
        """Whether it is there."""
        return (True, None) if self.word in code else (False, f"{agent.name} has no {self.word}")


def test_strategies_look_programs_through() -> None:
    runtime = writing(PLAIN, CALLING, verify=[Once("lamps"), Once("multiply")], strategy=ONE)
    run(runtime.jit(seller(multiply), lamps=3))
    assert any("seller has no multiply" in message.content for message in runtime.CTX["attempt_a"])
    with pytest.raises(ProgramFailed, match="no gold"):
        run(writing(PLAIN, verify=Once("gold"), strategy=ONE).jit(seller(), lamps=3))


class Shortest(Cost):
    """Takes long programs to be dear."""

    def compute_cost(self, code: str, agent: Agent) -> float:
        """As long as it is."""
        return len(code)


def test_a_strategy_prices() -> None:
    longer = f"# {'x' * 500}\n{PLAIN}"
    calling = f"{CALLING}\n"
    runtime = writing(longer, calling, longer, cost=Shortest())
    run(runtime.jit(seller(multiply), lamps=3))
    assert len(runtime.get_context()) == 4, "the shorter one calls, and is the dearer one by the engine"


def test_a_strategy_in_one_piece_comes_before_the_rest() -> None:
    whole = Strategy(
        num_candidates=1, max_iterations=1, verify=Once("gold"), generate=Scripted(written(PLAIN))
    )
    with pytest.raises(ProgramFailed) as failed:
        run(Runtime(generate="openai:none", strategy=whole).jit(seller(), lamps=3))
    assert [len(tried.faults) for tried in failed.value.attempts] == [1]


class InProcess:
    """An executor of somebody's own; it is no sandbox."""

    class Output(NamedTuple):
        """What came of it."""

        output: Any = None
        logs: str = ""
        error: str | None = None

    async def execute(self, code: str, tools: Any = None) -> Any:
        """Run it here."""
        names = {one.name: one for one in tools}
        lines = "\n".join(f"    {line}" for line in code.splitlines())
        try:
            exec(f"async def program():\n{lines}\n    return output", names)
            return self.Output(await names["program"]())
        except Exception as fault:
            return self.Output(error=f"{type(fault).__name__}: {fault}")


def test_an_executor_of_ones_own_runs_programs_with_the_same_record() -> None:
    broken = f"await multiply(a=1, b=1)\nopen('nothing/there')\n{PLAIN}"
    runtime = writing(broken, CALLING, executor=InProcess(), strategy=ONE)
    assert run(runtime.jit(seller(multiply), lamps=3)) == Bill(total="15")
    roles = [role for role, _ in shown(runtime.get_context())]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert any("FileNotFoundError" in message.content for message in runtime.CTX["attempt_a"])


def test_programs_are_kept_where_the_runtime_says_and_found_again(tmp_path: Path) -> None:
    folder = tmp_path / "kept"

    async def kept() -> None:
        runtime = Runtime(generate=Scripted(written(CALLING)), strategy=ONE, cache_dir=folder)
        assert not folder.exists()
        first = await runtime.aot(seller(multiply))
        assert len(list(folder.iterdir())) == 1 and first.code.strip() == CALLING
        silent = Runtime(generate=Scripted([]), strategy=ONE, cache_dir=folder)
        again = await silent.aot(seller(multiply))
        assert await again(lamps=2) == Bill(total="10") and set(silent.CTX) == {"main"}
        other = Runtime(generate=Scripted(written(PLAIN)), strategy=ONE, cache_dir=folder)
        assert (await other.aot(seller())).code.strip() == PLAIN, "another agent, another program"

    run(kept())


def test_a_compiled_tool_is_a_tool_of_other_agents() -> None:
    async def used() -> None:
        runtime = writing(
            PLAIN, "bill = await seller(lamps=2)\noutput = {'total': bill['total'] + '!'}", strategy=ONE
        )
        compiled = await runtime.aot(seller(), cache=False)
        other = Agent("chief", input_schema=Order, output_schema=Bill, tools=[compiled])
        assert await runtime.jit(other, lamps=3) == Bill(total="10!")
        assert await compiled(Order(lamps=1)) == Bill(total="5")
        roles = [role for role, _ in shown(runtime.get_context())]
        assert roles == ["user", "assistant", "tool", "assistant"]

    run(used())
