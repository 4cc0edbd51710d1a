"""Compiled agents where they were not compiled: what they do is on the record of whoever calls them."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import create_model

from quire import Agent as EngineAgent, Session
from quire.bridges.a1 import Agent, Compiled, Runtime, Strategy, Tool, get_context
from quire.items import ToolCall
from quire.models import Scripted
from quire.programs import ProgramFailed, ProgramFault
from tests.bridges.a1.coded import (
    ASKING,
    BROKEN,
    PLAIN,
    Bill,
    Order,
    llm,
    multiply,
    run,
    seller,
    shown,
    writing,
    written,
)

ONE = Strategy(num_candidates=1, max_iterations=1)
LACKING = "await multiply(a=1, b=1)\noutput = {'total': str.maketrans('a', 'b')[97]}"


async def compiled_by(runtime: Runtime, *tools: Any, **options: Any) -> Compiled:
    return await runtime.aot(seller(*tools), **options)


def test_each_user_has_what_was_theirs_on_their_own_record(tmp_path: Path) -> None:
    async def served() -> None:
        compiling = Runtime(generate=Scripted(written(PLAIN)), strategy=ONE)
        compiled = await compiled_by(compiling, cache=False)
        for number, user in enumerate(("ana", "ben")):
            with Runtime.from_file(tmp_path / f"{user}.json", keep_updated=True):
                await compiled.execute(lamps=number)
                assert shown(get_context("main"))[0] == ("user", {"lamps": number})
        for number, user in enumerate(("ana", "ben")):
            kept = Runtime.from_file(tmp_path / f"{user}.json").CTX["main"]
            assert [value for _, value in shown(kept)] == [{"lamps": number}, {"total": str(number * 5)}]
        assert not compiling.CTX["main"] and list(compiling.CTX) == ["main", "attempt_a"]

    run(served())


def test_calls_and_questions_are_where_it_is_called(runtime: Runtime) -> None:
    async def called() -> Runtime:
        compiling = Runtime(generate=Scripted(written(ASKING)), strategy=ONE)
        compiled = await compiled_by(compiling, llm("five"), cache=False)
        with runtime:
            assert (await compiled(lamps=3)).total == "five"
        return compiling

    compiling = run(called())
    assert "intermediate_a" in runtime.CTX and "intermediate_a" not in compiling.CTX
    assert [role for role, _ in shown(runtime.CTX["main"])] == ["user", "assistant"]


@pytest.mark.parametrize("code", [ASKING, f"await multiply(a=1, b=1)\n{BROKEN}"])
def test_as_a_tool_of_another_agent_it_is_run_in_the_runtime_of_that(code: str) -> None:
    async def called() -> None:
        compiling = Runtime(generate=Scripted(written(code)), strategy=ONE)
        inner = await compiled_by(compiling, multiply, llm("five"), cache=False)
        before = list(compiling.CTX)
        calling = (
            "try:\n    found = await seller(lamps=lamps)\nexcept Exception:\n    found = {'total': 'none'}\n"
        )
        user = writing(f"{calling}output = {{'total': found['total']}}", strategy=ONE)
        outer = Agent(name="outer", input_schema=Order, output_schema=Bill, tools=[inner])
        await user.jit(outer, lamps=3)
        assert list(compiling.CTX) == before and not compiling.CTX["main"]
        assert set(user.CTX) > {"main", "attempt_a"}

    run(called())


def test_what_it_calls_for_the_program_of_another_is_in_main_once_that_succeeded() -> None:
    inner_code = f"await multiply(a=lamps, b=1)\n{ASKING}"
    outer_code = "found = await seller(lamps=lamps)\noutput = {'total': found['total'][(lamps - 3) * 9]}"

    async def called() -> None:
        compiling = Runtime(generate=Scripted(written(inner_code)), strategy=ONE)
        inner = await compiled_by(compiling, multiply, llm("five", "six"), cache=False)
        user = writing("await seller(lamps=lamps)\noutput = {'total': str(1 // 0)}", outer_code)
        outer = Agent(name="outer", input_schema=Order, output_schema=Bill, tools=[inner])
        await user.jit(outer, lamps=3)
        assert shown(user.CTX["main"]) == [
            ("user", {"lamps": 3}),
            ("assistant", 'seller {"lamps": 3}'),
            ("tool", {"total": "five"}),
            ("assistant", 'multiply {"a": 3, "b": 1}'),  # made for the first program, and not again
            ("tool", {"product": 3}),
            ("user", "What is five lamps?"),
            ("assistant", "five"),
            ("assistant", {"total": "f"}),
        ]
        whole = [message.message_id for message in user.get_full_context()]
        assert len(whole) == len({*whole}) and list(user.CTX).count("intermediate_a") == 1
        before = len(user.CTX["main"])
        with pytest.raises(ProgramFailed):
            await user.jit(outer, lamps=4)
        assert len(user.CTX["main"]) == before, "the calls of what failed are in an attempt"
        assert any(("tool", {"product": 4}) in shown(context) for context in user.CTX.values())

    run(called())


def test_what_it_calls_is_in_main_where_a_runtime_executes_it_as_a_tool(runtime: Runtime) -> None:
    async def called() -> None:
        compiling = Runtime(generate=Scripted(written(f"await multiply(a=1, b=1)\n{ASKING}")), strategy=ONE)
        inner = await compiled_by(compiling, multiply, llm("five"), cache=False)
        await runtime.execute(inner, lamps=3)
        kinds = [role for role, _ in shown(runtime.CTX["main"])]
        assert kinds == ["assistant", "tool", "assistant", "tool", "user", "assistant"]

    run(called())


def test_as_a_tool_of_an_agent_of_the_engine_it_is_run_in_its_session() -> None:
    async def called() -> None:
        compiling = Runtime(generate=Scripted(written(ASKING)), strategy=ONE)
        inner = await compiled_by(compiling, llm("five"), cache=False)
        session = Session.open("ben/one", store="memory:")
        model = Scripted([[ToolCall("c1", "seller", '{"lamps": 3}')], "done"])
        reply = await EngineAgent(session, model=model, tools=[inner]).ask("How much?")
        assert reply.text == "done" and "intermediate_a" in session.transcripts
        assert "intermediate_a" not in compiling.CTX

    run(called())


def test_one_that_does_not_work_is_kept_no_longer(tmp_path: Path) -> None:
    async def called() -> None:
        for code in (LACKING, PLAIN):
            compiled = await compiled_by(writing(code, strategy=ONE, cache_dir=tmp_path), multiply)
            assert compiled.code == code
            if code == LACKING:
                with pytest.raises(ProgramFault):
                    await compiled.execute(lamps=3)
        assert (await compiled.execute(lamps=3)).total == "15"

    run(called())


@pytest.mark.parametrize("annotated", [None, dict])
def test_an_output_schema_is_part_of_what_a_program_is_kept_for(annotated: Any, tmp_path: Path) -> None:
    async def fetch(lamps: int) -> Any:
        return {"a": 1, "b": 2}

    fetch.__annotations__["return"] = annotated or Any

    def agent(field: str) -> Agent:
        gives: Any = create_model("Gives", **{field: (int, ...)})  # type: ignore[call-overload]
        return seller(Tool(name="fetch", execute=fetch, output_schema=gives))

    async def compiled(field: str) -> str:
        code = f"found = await fetch(lamps=lamps)\noutput = {{'total': str(found['{field}'])}}"
        one = await writing(code, strategy=ONE, cache_dir=tmp_path).aot(agent(field))
        return str((await one(lamps=1)).total)

    assert "-> FetchResult" in agent("a").task.stubs
    assert run(compiled("a")) == "1" and run(compiled("b")) == "2"
