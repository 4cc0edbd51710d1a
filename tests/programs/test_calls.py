"""Calls of a program: values and errors of tools, approval, hooks, questions to models, cancellation."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from quire import ToolCall, ToolResult
from quire.agent import tool
from quire.errors import ModelFailed
from quire.models import Scripted
from quire.programs import Task
from quire.session import Adding, hook
from tests.programs.coding import assert_whole, coder_of, ended, opened, said, solving


@dataclass
class Place:
    name: str
    size: tuple[int, int]


@tool
def find(name: str) -> Place:
    return Place(name, (2, 3))


@tool(max_output=10)
def long() -> list[int]:
    return list(range(100))


@tool
async def stream() -> AsyncIterator[str]:
    yield "one "
    yield "two"


@tool(timeout=0.01)
async def sleep() -> str:
    await asyncio.sleep(60)
    return ""


@tool
async def fail(kind: str) -> str:
    raise {"key": KeyError, "value": ValueError, "own": Refused}[kind]("no such place")


class Refused(Exception):
    """An error of the tool's own."""


TOOLS = [find, long, stream, sleep, fail]
CAUGHT = "try:\n    output = await {}\nexcept {} as fault:\n    output = 'caught: ' + str(fault)"


async def answer_of(code: str, *tools: Any, **options: Any) -> Any:
    coder = coder_of(code, rounds=1, **options)
    return (await coder.answer(solving(tools=tools or TOOLS, output=Any), {"problem": "?"})).value


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("output = await find('Rome')", {"name": "Rome", "size": [2, 3]}),
        ("p = await find(name='Rome')\noutput = p['size'][0] + p['size'][1]", 5),
        ("output = sum(await long())", 4950),
        ("output = await stream()", "one \ntwo"),
        (CAUGHT.format("fail('value')", "ValueError"), "caught: no such place"),
        (CAUGHT.format("fail('own')", "Exception"), "caught: no such place"),
        ("try:\n    output = await sleep()\nexcept TimeoutError:\n    output = 'late'", "late"),
    ],
)
async def test_a_program_receives_values_and_errors_of_tools(code: str, value: Any) -> None:
    assert await answer_of(code) == value


paid: list[int] = []


@tool(approve=True)
async def pay(amount: int) -> str:
    paid.append(amount)
    return f"paid {amount}"


@tool(asks_person=True)
def ask_person(question: str) -> str:
    return "never"


REFUSED: list[tuple[str, Callable[[ToolCall], bool | str] | None, str]] = [
    ("pay(3)", None, "a person has to approve"),
    ("pay(3)", lambda call: call.arguments == '{"amount": 4}', "not approved"),
    ("pay(3)", lambda _: "too much", "too much"),
    ("ask_person('?')", lambda _: True, "a person answers it"),
]


@pytest.mark.parametrize(("call", "approver", "told"), REFUSED)
async def test_a_call_that_is_not_approved_is_not_run(call: str, approver: Any, told: str) -> None:
    paid.clear()
    session = opened()
    code = CAUGHT.format(call, "RuntimeError")
    assert told in await answer_of(code, pay, ask_person, approver=approver, session=session)
    assert paid == [] and [kind for kind, _ in said(session)] == ["user", "call", "error", "assistant"]


@pytest.mark.parametrize("programs", [["caught"], ["uncaught", "caught"]])
@pytest.mark.parametrize("fails", [False, True])
async def test_a_result_that_a_hook_refuses_is_nowhere(programs: list[str], fails: bool) -> None:
    spent: list[str] = []

    @tool
    async def spend(card: str) -> str:
        spent.append(card)
        if fails:
            raise RuntimeError("no money on 4111")
        return "paid with 4111"

    @hook(Adding)
    async def refuse_cards(event: Adding) -> None:
        if any(isinstance(item, ToolResult) and "4111" in item.text for item in event.items):
            raise ValueError("it was 4111")

    codes = {"caught": CAUGHT.format("spend(card)", "Exception"), "uncaught": "output = await spend(card)"}
    coder = coder_of(*map(codes.__getitem__, programs), session=opened(hooks=[refuse_cards]))
    task = Task("pay", input={"card": str}, output=str, tools=[spend])
    answer = (await coder.answer(task, {"card": "x"})).value
    assert "caught: " in answer and "refused" in answer and "4111" not in answer
    assert fails or spent == ["x"]
    for name in coder.session.transcripts:
        shown = said(coder.session, name)
        assert all("4111" not in text and "uncertain" not in text for _, text in shown)
        assert any(kind == "error" for kind, _ in shown)
        assert_whole(coder.session, name)


@pytest.mark.parametrize(
    ("reply", "call", "told"),
    [
        (ended("The total is 1", "stop"), "llm('sum')", "The total is 1"),
        (ended("The total is 1", "length"), "llm('sum')", "it was cut off at the limit of output tokens"),
        (ended("The total is 1", "refused"), "llm('sum')", "the model refused to continue"),
        (ModelFailed("it is out"), "llm('sum')", "it is out"),
        (ValueError("key 4111 is wrong"), "llm('sum')", "failed: ValueError"),
        ("no JSON", "llm('sum', output_schema={})", "no JSON"),
        ("[1]", "llm('sum', output_schema={'type': 'object'})", "caught: "),
        ('{"a": 1}', "llm(prompt='sum', output_schema={'type': 'object'})", "{'a': 1}"),
        ("x", "llm('sum', output_schema={'type': 'str'})", "caught: "),
    ],
)
async def test_a_model_gives_a_whole_answer_or_an_error(reply: Any, call: str, told: str) -> None:
    code = f"import json\ntry:\n    output = str(await {call})\nexcept Exception as fault:\n"
    coder = coder_of(code + "    output = 'caught: ' + str(fault)", rounds=1)
    task = solving(tools=[], models=[Scripted([reply], name="m")], output=str)
    answer = (await coder.answer(task, {"problem": "?"})).value
    assert told in answer and "4111" not in answer


class Slow:
    """A tool that says when it began and ended."""

    def __init__(self) -> None:
        self.begun, self.ended = asyncio.Event(), asyncio.Event()
        self.tool = tool(name="slow")(self.wait)

    async def wait(self) -> str:
        self.begun.set()
        try:
            await asyncio.sleep(600)
        finally:
            self.ended.set()
        return ""


async def test_cancelling_stops_a_program_and_its_calls_and_leaves_main_empty() -> None:
    slow = Slow()
    coder = coder_of("try:\n    await slow()\nexcept BaseException:\n    pass\noutput = {'result': 'on'}")
    work = asyncio.ensure_future(coder.answer(solving(tools=[slow.tool]), {"problem": "?"}))
    await asyncio.wait_for(slow.begun.wait(), 60)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert slow.ended.is_set() and said(coder.session) == []
    (call, _), (result, words) = said(coder.session, "attempt_a")[-2:]
    assert (call, result) == ("call", "error") and "uncertain" in words
    assert_whole(coder.session, "attempt_a")


async def test_a_call_that_is_left_does_not_outlive_the_program() -> None:
    slow = Slow()

    @tool
    async def fail_later() -> None:
        """Fail, once the other has begun."""
        await slow.begun.wait()
        raise ValueError("no")

    coder = coder_of(
        "import asyncio\n"
        "try:\n    await asyncio.gather(slow(), fail_later())\nexcept ValueError:\n    pass\n"
        "output = {'result': 'x'}"
    )
    await coder.answer(solving(tools=[slow.tool, fail_later]), {"problem": "?"})
    assert slow.ended.is_set()
    assert [kind for kind, _ in said(coder.session)] == ["user", *["call", "error"] * 2, "assistant"]
    assert_whole(coder.session, "attempt_a")
    assert_whole(coder.session)
