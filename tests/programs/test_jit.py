"""Answers by programs: what goes into the main transcript, what does not, and what each attempt died of."""

import asyncio

import pytest

from quire import Message, Session
from quire.agent import tool
from quire.errors import CapReached, InvalidValue, ModelFailed, WrongType
from quire.models import Scripted
from quire.programs import Coder, Event, Faulted, Price, Program, ProgramFailed, ProgramFault, Task
from quire.session import Caps
from quire.stores import MemoryStore
from tests.programs.coding import ADDING, assert_whole, coder_of, heard, run, said, solving

ASKED = ("user", '{"problem": "What is 2+2?"}')
FOUR = ("assistant", '{"result": "4"}')
CALLED = [("call", 'calculator {"a": 2, "b": 2}'), ("result", '{"result": 4}')]


def test_input_and_answer_are_in_main_as_json() -> None:
    async def code() -> None:
        coder = coder_of("output = {'result': '4'}")
        answer = await coder.answer(solving(), problem="What is 2+2?")
        assert answer.value == {"result": "4"} and answer.program.code.strip() == "output = {'result': '4'}"
        assert said(coder.session) == [ASKED, FOUR]

    run(code)


def test_the_last_expression_is_an_answer_too() -> None:
    async def code() -> None:
        answer = await coder_of("{'result': problem[:4]}").answer(solving(), problem="What is 2+2?")
        assert answer.value == {"result": "What"}

    run(code)


def test_after_a_failure_nothing_is_in_main_and_the_error_says_what_each_attempt_died_of() -> None:
    async def code() -> None:
        coder = coder_of(
            "raise ValueError('never')\noutput = {'result': ''}", "output = 1 +", candidates=2, rounds=1
        )
        with pytest.raises(ProgramFailed) as failed:
            await coder.answer(solving(), problem="What is 2+2?")
        assert said(coder.session) == []
        (first,), (second,) = (tried.faults for tried in failed.value.attempts)
        assert isinstance(first, ProgramFault) and first.kind == "raised" and first.line == 1
        assert isinstance(second, ProgramFault) and second.kind == "syntax"
        words = str(failed.value)
        assert "attempt_a: raised" in words and "never" in words and "attempt_b: syntax" in words

    run(code)


def test_calls_of_tools_are_in_main_as_the_same_items_as_in_the_attempt() -> None:
    async def code() -> None:
        coder = coder_of(ADDING)
        await coder.answer(solving(), problem="What is 2+2?")
        assert said(coder.session) == [ASKED, *CALLED, FOUR]
        attempt = {item.id: item for item in coder.session.view("attempt_a")}
        assert [attempt[item.id] for item in coder.session.view()[1:3]] == coder.session.view()[1:3]
        assert_whole(coder.session)

    run(code)


def test_a_tool_that_raises_can_be_caught_and_its_error_is_in_main() -> None:
    async def code() -> None:
        coder = coder_of(
            "try:\n"
            "    await calculator(1, 2, 'divide')\n"
            "    output = {'result': 'no error'}\n"
            "except ValueError as fault:\n"
            "    output = {'result': str(fault)}"
        )
        answer = await coder.answer(solving(), problem="Divide.")
        assert answer.value == {"result": "only add is known"}
        called = 'calculator {"a": 1, "b": 2, "operation": "divide"}'
        assert said(coder.session)[1:3] == [("call", called), ("error", "ValueError: only add is known")]
        assert_whole(coder.session)

    run(code)


def test_calls_side_by_side_stand_next_to_what_they_gave() -> None:
    both = asyncio.Barrier(2)

    @tool
    async def meet(name: str) -> str:
        """Meet another."""
        await both.wait()
        return f"{name} was there"

    async def code() -> None:
        coder = coder_of(
            "import asyncio\n"
            "one, two = await asyncio.gather(meet('Ana'), meet('Bo'))\n"
            "output = {'result': one + ', ' + two}"
        )
        answer = await coder.answer(solving(tools=[meet]), problem="Meet.")
        assert answer.value == {"result": "Ana was there, Bo was there"}
        kinds = [kind for kind, _ in said(coder.session)]
        assert kinds == ["user", "call", "result", "call", "result", "assistant"]
        for call, result in (coder.session.view()[1:3], coder.session.view()[3:5]):
            assert getattr(call, "call_id", 1) == getattr(result, "call_id", 2)
        assert_whole(coder.session)

    run(code)


def test_calls_of_models_are_in_main_and_in_transcripts_of_their_own_as_the_same_items() -> None:
    async def code() -> None:
        asked = Scripted(["four", '{"answer": 4}'], name="small")
        coder = coder_of(
            "first = await llm_a('How much?')\n"
            "second = await llm('As JSON?', output_schema={'type': 'object'})\n"
            "output = {'result': first + str(second['answer'])}"
        )
        await coder.answer(solving(tools=[], models=[asked]), problem="What is 2+2?")
        assert said(coder.session, "intermediate_a") == [("user", "How much?"), ("assistant", "four")]
        intermediate = [*coder.session.view("intermediate_a"), *coder.session.view("intermediate_b")]
        assert list(coder.session.view()[1:-1]) == intermediate
        assert asked.terms[1].get("output") == {"type": "object"}
        assert coder.session.spending.requests == 3

    run(code)


def test_a_model_that_fails_leaves_nothing_in_main() -> None:
    async def code() -> None:
        coder = coder_of("try:\n    await llm('?')\nexcept RuntimeError:\n    output = {'result': 'failed'}")
        task = solving(tools=[], models=[Scripted([ModelFailed("it is out")], name="small")])
        await coder.answer(task, problem="Ask.")
        assert said(coder.session) == [("user", '{"problem": "Ask."}'), ("assistant", '{"result": "failed"}')]
        assert said(coder.session, "intermediate_a") == [("user", "?")]

    run(code)


def test_rounds_are_told_what_was_wrong_and_stay_out_of_main() -> None:
    async def code() -> None:
        coder = coder_of("output = {'result': anser}", ADDING)
        events: list[Event] = []
        answer = await coder.answer(solving(), problem="What is 2+2?", tell=events.append)
        assert said(coder.session) == [ASKED, *CALLED, FOUR]
        roles = [role for role, _ in said(coder.session, "attempt_a")]
        assert roles == ["system", "user", "assistant", "user", "assistant", "user", "call", "result"]
        assert "anser" in said(coder.session, "attempt_a")[3][1]
        assert heard(events) == [
            *("Written", "Faulted", "Written", "Checked", "Started", "Called", "Gave", "Answered"),
        ]
        assert [len(tried.faults) for tried in answer.attempts] == [1]

    run(code)


def test_the_cheapest_is_run_first_and_the_next_where_it_fails() -> None:
    dear = f"for _ in range(3):\n    await calculator(1, 1)\n{ADDING}"

    async def code() -> None:
        coder = coder_of(
            dear, "raise KeyError('cheap')\noutput = {'result': ''}", ADDING, candidates=3, rounds=1
        )
        answer = await coder.answer(solving(), problem="What is 2+2?")
        assert said(coder.session) == [ASKED, *CALLED, FOUR]
        assert [len(tried.faults) for tried in answer.attempts] == [0, 1, 0]
        assert "call" not in [kind for kind, _ in said(coder.session, "attempt_a")]

    run(code)


def test_where_all_fail_those_with_rounds_left_are_told_and_write_again() -> None:
    async def code() -> None:
        coder = coder_of(
            "print('so far')\nawait calculator(1, 2, 'divide')\noutput = {'result': ''}", ADDING, rounds=2
        )
        events: list[Event] = []
        answer = await coder.answer(solving(), problem="What is 2+2?", tell=events.append)
        assert answer.value == {"result": "4"}
        assert said(coder.session) == [ASKED, *CALLED, FOUR]
        told = said(coder.session, "attempt_a")[6][1]
        assert "only add is known" in told and "so far" in told
        assert "tool_calls" not in str(coder.model.requests[1].payload)  # type: ignore[union-attr]
        assert "Printed" in heard(events)

    run(code)


def test_an_answer_that_does_not_fit_is_a_fault() -> None:
    async def code() -> None:
        coder = coder_of("import json\noutput = json.loads('{\"reslt\": 4}')", rounds=1)
        with pytest.raises(ProgramFailed, match="answer") as failed:
            await coder.answer(solving(), problem="What is 2+2?")
        (fault,) = failed.value.attempts[0].faults
        assert isinstance(fault, ProgramFault) and fault.kind == "answer"

    run(code)


def test_what_has_happened_is_on_the_record_before_the_next_step() -> None:
    seen: list[list[str]] = []

    @tool
    async def look(session: Session) -> str:
        """Look at the record."""
        seen.append([kind for kind, _ in said(session, "attempt_a")][3:])
        return "looked"

    async def code() -> None:
        coder = coder_of("await look()\nawait look()\noutput = {'result': 'x'}")
        await coder.answer(solving(tools=[look]), problem="Look.")
        assert seen == [["user", "call"], ["user", "call", "result", "call"]]

    run(code)


def test_a_cap_ends_it_and_is_no_fault_of_an_attempt() -> None:
    async def code() -> None:
        session = Session.open("ana/one", store=MemoryStore(), caps=Caps(tokens=1))
        caught = "try:\n    await llm('?')\nexcept Exception:\n    pass\noutput = {'result': ''}"
        coder = coder_of(caught, session=session)
        task = solving(tools=[], models=[Scripted(["x"], name="small")])
        with pytest.raises(CapReached):
            await coder.answer(task, problem="Ask.")
        assert said(session) == []

    run(code)


def test_a_model_that_cannot_answer_ends_its_attempt_alone() -> None:
    async def code() -> None:
        coder = coder_of(ModelFailed("it is out"), ADDING, candidates=2)
        events: list[Event] = []
        answer = await coder.answer(solving(), problem="What is 2+2?", tell=events.append)
        assert answer.value == {"result": "4"}
        assert [type(event.fault) for event in events if isinstance(event, Faulted)] == [ModelFailed]

    run(code)


def test_a_program_of_ones_own_is_run_without_a_model() -> None:
    async def code() -> None:
        coder = Coder(session=Session.open("ana/one", store=MemoryStore()))
        answer = await coder.run(solving(), ADDING, problem="What is 2+2?")
        assert answer.value == {"result": "4"}
        assert said(coder.session) == [ASKED, *CALLED, FOUR]
        with pytest.raises(ProgramFault):
            await coder.run(solving(), "raise ValueError('x')\noutput = {'result': ''}", problem="?")
        assert said(coder.session) == [ASKED, *CALLED, FOUR]
        with pytest.raises(InvalidValue, match="was given none"):
            await coder.answer(solving(), problem="?")

    run(code)


def test_others_may_write_check_and_price_and_main_may_be_another_transcript() -> None:
    async def write(transcript: str, task: Task, items: object) -> str:
        return f"# {transcript} {task.name}"

    async def check(code: str, task: Task) -> Program:
        return Program(f"output = {{'result': {code!r}}}", ())

    def price(program: Program, task: Task) -> Price:
        return Price(money=1.0 if "attempt_a" in program.code else 0.0, seconds=0.0, calls=0.0)

    async def code() -> None:
        session = Session.open("ana/one", store=MemoryStore())
        coder = Coder(session=session, main="main~2", candidates=2, write=write, check=check, price=price)
        answer = await coder.answer(solving(), problem="?")
        assert answer.value == {"result": "# attempt_b solve"} and answer.price.money == 0.0
        assert said(session, "attempt_b")[2] == ("assistant", "# attempt_b solve")
        assert said(session) == [] and len(said(session, "main~2")) == 2

    run(code)


def test_what_is_given_is_read_before_anything_is_begun() -> None:
    async def code() -> None:
        coder = coder_of(ADDING)
        with pytest.raises(InvalidValue, match="problem"):
            await coder.answer(solving(), problm="What is 2+2?")
        with pytest.raises(WrongType, match="Task"):
            await coder.answer("solve")  # type: ignore[arg-type]
        assert coder.session.transcripts == ("main",)

    run(code)


def test_coders_of_one_conversation_have_attempts_of_their_own() -> None:
    async def code() -> None:
        session = Session.open("ana/one", store=MemoryStore())
        coders = [coder_of(ADDING, session=session) for _ in range(4)]
        await asyncio.gather(*(coder.answer(solving(), problem="?") for coder in coders))
        assert len([name for name in session.transcripts if name.startswith("attempt_")]) == 4
        assert len(said(session)) == 16
        assert [item for item in session.view() if isinstance(item, Message)][-1].role == "assistant"
        assert_whole(session)

    run(code)
