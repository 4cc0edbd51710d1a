"""Tools in programs: values and not their text, errors of their own types, approval, cancelling."""

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from quire import Note, Session, ToolCall
from quire.agent import tool
from quire.models import Scripted
from quire.session import Calling, hook
from quire.stores import MemoryStore
from tests.programs.coding import assert_whole, coder_of, run, said, solving


@dataclass
class Place:
    """A place."""

    name: str
    size: tuple[int, int]


@tool
def find(name: str) -> Place:
    """Find a place."""
    return Place(name, (2, 3))


@tool
async def digits() -> str:
    """Say a number in digits."""
    return "123"


@tool(max_output=10)
def long() -> list[int]:
    """Give much."""
    return list(range(100))


@tool
async def note_down(text: str) -> Note:
    """Note something down."""
    return Note(text, key="noted", description="what was said")


async def answer_of(code: str, *tools: Any, **options: Any) -> Any:
    coder = coder_of(code, rounds=1, **options)
    return (await coder.answer(solving(tools=tools, output=Any), problem="?")).value


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("output = await find('Rome')", {"name": "Rome", "size": [2, 3]}),
        ("p = await find(name='Rome')\noutput = p['size'][0] + p['size'][1]", 5),
        ("output = [await digits(), 123]", ["123", 123]),
        ("output = sum(await long())", 4950),
        ("output = await note_down('x')", "[kept as noted: what was said]"),
    ],
)
def test_a_program_is_given_values(code: str, expected: Any) -> None:
    async def work() -> None:
        assert await answer_of(code, find, digits, long, note_down) == expected

    run(work)


def test_notes_of_tools_are_in_the_pool() -> None:
    async def work() -> None:
        coder = coder_of("output = await note_down('x')")
        await coder.answer(solving(tools=[note_down], output=str), problem="?")
        assert coder.session.pool["noted"].content == "x"

    run(work)


def test_arguments_that_do_not_fit_are_an_error_in_the_program() -> None:
    code = (
        "import json\n"
        "try:\n    await find(json.loads('[1]'))\nexcept RuntimeError as fault:\n    output = str(fault)"
    )

    async def work() -> None:
        assert "was not run" in await answer_of(code, find)

    run(work)


def test_a_tool_that_is_too_slow_raises_in_the_program() -> None:
    @tool(timeout=0.01)
    async def sleep() -> str:
        """Sleep."""
        await asyncio.sleep(60)
        return ""

    async def work() -> None:
        code = "try:\n    output = await sleep()\nexcept TimeoutError:\n    output = 'late'"
        assert await answer_of(code, sleep) == "late"

    run(work)


@tool(approve=True)
async def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@tool(asks_person=True)
def ask_person(question: str) -> str:
    """Ask a person."""
    return "never"


REFUSED = """\
try:
    output = await {}
except RuntimeError as fault:
    output = "refused: " + str(fault)
"""


def agree(call: ToolCall) -> bool:
    return call.name == "pay"


def object_to(call: ToolCall) -> str:
    return f"too much: {call.name}"


def test_what_a_person_has_to_approve_is_refused_unless_somebody_does() -> None:
    async def work() -> None:
        code = REFUSED.format("pay(3)")
        refused = await answer_of(code, pay)
        assert "approve" in refused and refused.startswith("refused: ")
        assert await answer_of(code, pay, approver=agree) == "paid 3"
        assert "too much" in await answer_of(code, pay, approver=object_to)

    run(work)


def test_a_call_that_is_forgotten_while_somebody_decides_is_not_run() -> None:
    paid = list[int]()

    @tool(approve=True)
    async def pay_once(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    async def work() -> None:
        session = Session.open("ana/one", store=MemoryStore())

        def forget_and_agree(call: ToolCall) -> bool:
            session.forget(call.id)
            return True

        code = REFUSED.format("pay_once(3)")
        answered = await answer_of(code, pay_once, session=session, approver=forget_and_agree)
        assert "was forgotten" in answered and paid == []

    run(work)


def test_what_a_person_answers_is_refused() -> None:
    async def work() -> None:
        assert "a person answers it" in await answer_of(REFUSED.format("ask_person('?')"), ask_person)

    run(work)


def test_hooks_may_refuse_a_call() -> None:
    @hook(Calling)
    def refuse_digits(event: Calling) -> None:
        raise ValueError(event.name)

    async def work() -> None:
        session = Session.open("ana/one", store=MemoryStore(), hooks=[refuse_digits])
        assert "a hook refused it" in await answer_of(REFUSED.format("digits()"), digits, session=session)
        assert [kind for kind, _ in said(session)] == ["user", "call", "error", "assistant"]

    run(work)


async def begun_by(work: "asyncio.Future[Any]", event: asyncio.Event) -> None:
    """Wait for an event of some work; where that ends before, for nothing more."""
    waiting = asyncio.ensure_future(event.wait())
    await asyncio.wait([work, waiting], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    assert event.is_set(), work


class Slow:
    """A tool that tells that it was begun, and how it ended."""

    def __init__(self) -> None:
        self.begun, self.ended = asyncio.Event(), asyncio.Event()
        self.tool = tool(name="slow")(self.wait)

    async def wait(self) -> str:
        """Wait for long."""
        self.begun.set()
        try:
            await asyncio.sleep(600)
        finally:
            self.ended.set()
        return ""


def test_cancelling_stops_the_program_and_its_calls_and_leaves_main_as_it_was() -> None:
    async def work() -> None:
        slow = Slow()
        coder = coder_of("try:\n    await slow()\nexcept BaseException:\n    pass\noutput = {'result': 'on'}")
        answering = asyncio.ensure_future(coder.answer(solving(tools=[slow.tool]), problem="?"))
        await begun_by(answering, slow.begun)
        answering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await answering
        assert slow.ended.is_set()
        assert said(coder.session) == []
        kinds = [kind for kind, _ in said(coder.session, "attempt_a")]
        assert kinds[-2:] == ["call", "error"]
        assert "uncertain" in said(coder.session, "attempt_a")[-1][1]
        assert_whole(coder.session, "attempt_a")

    run(work)


def test_cancelling_stops_a_program_that_computes() -> None:
    begun = asyncio.Event()

    @tool
    async def tell() -> None:
        """Tell that it goes on."""
        begun.set()

    async def work() -> None:
        coder = coder_of("await tell()\nwhile True:\n    pass\noutput = {'result': ''}")
        answering = asyncio.ensure_future(coder.answer(solving(tools=[tell]), problem="?"))
        await begun_by(answering, begun)
        answering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await answering
        assert said(coder.session) == []

    run(work)


def test_cancelling_while_a_model_writes_leaves_main_as_it_was() -> None:
    begun = asyncio.Event()

    async def never(_: object) -> str:
        begun.set()
        await asyncio.sleep(600)
        return ""

    async def work() -> None:
        coder = coder_of(never, never, candidates=2)
        answering = asyncio.ensure_future(coder.answer(solving(), problem="?"))
        await begun_by(answering, begun)
        answering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await answering
        assert said(coder.session) == [] and len(asyncio.all_tasks()) == 1

    run(work)


def test_a_call_that_nobody_waits_for_does_not_outlive_the_program() -> None:
    async def work() -> None:
        slow = Slow()

        @tool
        async def fail() -> None:
            """Fail, once the other has begun."""
            await slow.begun.wait()
            raise ValueError("no")

        coder = coder_of(
            "import asyncio\n"
            "try:\n    await asyncio.gather(slow(), fail())\nexcept ValueError:\n    pass\n"
            "output = {'result': 'x'}"
        )
        await coder.answer(solving(tools=[slow.tool, fail]), problem="?")
        assert slow.ended.is_set()
        assert [kind for kind, _ in said(coder.session)] == ["user", *["call", "error"] * 2, "assistant"]
        assert_whole(coder.session, "attempt_a")
        assert_whole(coder.session)

    run(work)


def test_models_take_a_prompt_and_a_schema_and_nothing_else() -> None:
    async def work() -> None:
        small = Scripted(["no JSON"], name="small")
        coder = coder_of(
            "try:\n    await llm('?', output_schema={})\nexcept ValueError as fault:\n    output = str(fault)"
        )
        answer = await coder.answer(solving(models=[small], output=str), problem="?")
        assert "no JSON" in answer.value

    run(work)


def test_calls_are_told_with_the_names_that_tools_have_outside() -> None:
    @tool(name="get-weather")
    async def weather(city: str) -> str:
        """The weather."""
        return f"sun in {city}"

    async def work() -> None:
        coder = coder_of("output = await get_weather('Rome')")
        await coder.answer(solving(tools=[weather], output=str), problem="?")
        (called,) = (item for item in coder.session.view() if isinstance(item, ToolCall))
        assert called.name == "get-weather" and called.arguments == '{"city": "Rome"}'

    run(work)


def test_a_parameter_may_be_called_self() -> None:
    @tool
    async def name_of(self: str) -> str:
        """The name of somebody."""
        return self.upper()

    async def work() -> None:
        assert await answer_of("output = await name_of(self='ana')", name_of) == "ANA"

    run(work)
