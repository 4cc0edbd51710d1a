"""Answers by programs: how one comes about, what is recorded in `main`, and what each attempt reports."""

import asyncio
from typing import Any

import pytest

from quire import Message, Session
from quire.agent import tool
from quire.errors import CapReached, InvalidValue
from quire.models import Scripted
from quire.programs import Coder, ProgramFailed, ProgramFault, Task
from quire.providers import Finish
from quire.session import Caps
from tests.programs.coding import ADDING, assert_whole, coder_of, ended, opened, said, solving

ASKED = ("user", '{"problem": "What is 2+2?"}')
FOUR = ("assistant", '{"result": "4"}')
CALLED = [("call", 'calculator {"a": 2, "b": 2}'), ("result", '{"result": 4}')]
QUESTION = {"problem": "What is 2+2?"}


async def test_after_a_failure_main_is_empty_and_the_error_has_the_faults_of_each_attempt() -> None:
    coder = coder_of(
        "raise ValueError('never')\noutput = {'result': ''}", "output = 1 +", candidates=2, rounds=1
    )
    with pytest.raises(ProgramFailed) as failed:
        await coder.answer(solving(), QUESTION)
    assert said(coder.session) == [] and not failed.value.has_acted
    (first,), (second,) = (tried.faults for tried in failed.value.attempts)
    assert isinstance(first, ProgramFault) and (first.kind, first.line) == ("raised", 1)
    assert isinstance(second, ProgramFault) and second.kind == "syntax"
    words = str(failed.value)
    assert "attempt_a: raised" in words and "never" in words and "attempt_b: syntax" in words


async def test_calls_that_run_side_by_side_stand_next_to_their_results() -> None:
    both = asyncio.Barrier(2)

    @tool
    async def meet(name: str) -> str:
        await both.wait()
        return f"{name} was there"

    async def late(_: Any) -> str:
        while [kind for kind, _ in said(coder.session, "attempt_a")].count("result") < 2:
            await asyncio.sleep(0)
        return "late"

    code = "import asyncio\none, two, three = await asyncio.gather(meet('Ana'), meet('Bo'), llm('Who?'))\n"
    coder = coder_of(code + "output = {'result': ', '.join([one, two, three])}")
    task = solving(tools=[meet], models=[Scripted([late])])
    assert (await coder.answer(task, QUESTION)).value == {"result": "Ana was there, Bo was there, late"}
    kinds = [kind for kind, _ in said(coder.session)]
    assert kinds == ["user", "call", "result", "call", "result", "user", "assistant", "assistant"]
    for call, result in (coder.session.view()[1:3], coder.session.view()[3:5]):
        assert getattr(call, "call_id", 1) == getattr(result, "call_id", 2)
    assert_whole(coder.session)


async def test_questions_to_models_are_in_main_and_in_transcripts_of_their_own() -> None:
    asked = Scripted(["four", '{"answer": 4}'], name="small")
    coder = coder_of(
        "first = await llm_a('How much?')\n"
        "second = await llm('As JSON?', output_schema={'type': 'object'})\n"
        "output = {'result': first + str(second['answer'])}"
    )
    answer = await coder.answer(solving(tools=[], models=[asked]), QUESTION)
    assert answer.value == {"result": "four4"}
    assert said(coder.session, "intermediate_a") == [("user", "How much?"), ("assistant", "four")]
    question = coder.session.view("intermediate_a")[0]
    assert question.origin == "external"  # what a program asks is no word of the user
    intermediate = [*coder.session.view("intermediate_a"), *coder.session.view("intermediate_b")]
    assert list(coder.session.view()[1:-1]) == intermediate
    assert asked.terms[1].get("output") == {"type": "object"}
    assert coder.session.spending.requests == 3


async def test_a_step_is_recorded_before_the_next_one_begins() -> None:
    seen: list[list[str]] = []

    @tool
    async def look(session: Session) -> str:
        seen.append([kind for kind, _ in said(session, "attempt_a")][3:])
        return "looked"

    coder = coder_of("await look()\nawait look()\noutput = {'result': 'x'}")
    await coder.answer(solving(tools=[look]), QUESTION)
    assert seen == [["user", "call"], ["user", "call", "result", "call"]]


async def test_a_round_reads_the_fault_of_the_one_before() -> None:
    coder = coder_of("output = {'result': anser}", ADDING)
    answer = await coder.answer(solving(), QUESTION)
    assert said(coder.session) == [ASKED, *CALLED, FOUR] and answer.code == ADDING
    roles = [role for role, _ in said(coder.session, "attempt_a")]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user", "call", "result"]
    assert "anser" in said(coder.session, "attempt_a")[3][1]
    attempt = {item.id: item for item in coder.session.view("attempt_a")}
    assert [attempt[item.id] for item in coder.session.view()[1:3]] == coder.session.view()[1:3]
    assert_whole(coder.session)
    assert [len(tried.faults) for tried in answer.attempts] == [1]


async def test_the_cheapest_runs_first_and_the_next_if_it_fails() -> None:
    dear = f"for _ in range(3):\n    await calculator(1, 1)\n{ADDING}"
    cheap = "raise KeyError('cheap')\noutput = {'result': ''}"
    coder = coder_of(dear, cheap, ADDING, candidates=3, rounds=1)
    answer = await coder.answer(solving(), QUESTION)
    assert said(coder.session) == [ASKED, *CALLED, FOUR]
    assert sorted(len(tried.faults) for tried in answer.attempts) == [0, 0, 1]
    # The candidates are written at once, so any of them may be the dear one.
    attempts = [said(coder.session, tried.attempt) for tried in answer.attempts]
    (unused,) = [rows for rows in attempts if "range(3)" in str(rows)]
    assert "call" not in [kind for kind, _ in unused]


async def test_after_a_failed_run_the_model_reads_the_fault_and_what_was_printed() -> None:
    failing = "print('so far')\nawait calculator(1, 2, 'divide')\noutput = {'result': ''}"
    coder = coder_of(failing, ADDING, rounds=2)
    assert (await coder.answer(solving(), QUESTION)).value == {"result": "4"}
    told = said(coder.session, "attempt_a")[6][1]
    assert "only add is known" in told and "so far" in told
    model = coder.model
    assert isinstance(model, Scripted) and "tool_calls" not in str(model.requests[1].payload)


async def test_a_given_program_is_run_without_a_model() -> None:
    coder = Coder(session=opened())
    answer = await coder.run(solving(), ADDING, QUESTION)
    assert answer.value == {"result": "4"} and answer.price.calls == 1
    kinds = [kind for kind, _ in said(coder.session, "attempt_a")]
    assert kinds == ["user", "assistant", "user", "call", "result"]
    assert ADDING in said(coder.session, "attempt_a")[1][1]
    with pytest.raises(ProgramFault, match=r"ValueError(.|\n)*calculator \(1 done\)") as failed:
        await coder.run(solving(), f"{ADDING}\nraise ValueError('x')", QUESTION)
    assert failed.value.has_acted and said(coder.session) == [ASKED, *CALLED, FOUR]
    with pytest.raises(InvalidValue, match="has no model"):
        await coder.answer(solving(), QUESTION)


WHOLE = "```python\nfor n in [1, 2000]:\n    output = await pay(n) if n < 1000 else 'not paid'\n```\n"
CUT = WHOLE[: WHOLE.index(" if n")]
REPORT = 'text = """# Report\n```\nrows\n```\n"""\noutput = text'


class Payments:
    """A task with a tool that notes its calls."""

    def __init__(self, **options: Any) -> None:
        self.paid: list[int] = []
        self.task = Task("pay", input={"month": str}, output=str, tools=[tool(self.pay)], **options)

    async def pay(self, n: int) -> str:
        self.paid.append(n)
        return "paid"


@pytest.mark.parametrize(
    ("words", "finish", "told"),
    [
        (CUT, "length", "cut off at the limit of output tokens"),
        (WHOLE, "length", "write a shorter one"),
        (WHOLE, "refused", "refused to continue"),
        ("output = await pay(2000)", "other", "has no end"),
    ],
)
async def test_a_reply_that_is_not_complete_is_neither_run_nor_kept(
    words: str, finish: Finish, told: str
) -> None:
    payments = Payments()
    coder = coder_of(ended(words, finish), "output = 'second'", rounds=2)
    answer = await coder.answer(payments.task, {"month": "June"})
    (fault,) = answer.attempts[0].faults
    assert (answer.value, payments.paid) == ("second", [])
    assert isinstance(fault, ProgramFault) and fault.kind == "syntax" and told in str(fault)
    assert any(told in text for kind, text in said(coder.session, "attempt_a") if kind == "user")
    with pytest.raises(ProgramFailed):
        await coder_of(ended(words, finish), rounds=1).keep(payments.task)


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("output = 'plain'", "plain"),
        ("```json\n{}\n```\n```py\noutput = 'python first'\n```", "python first"),
        ("- so:\n  ```python\n  output = 'indented'\n  ```\n", "indented"),
        (f"So:\n```python\n{REPORT}\n```\nThat is it.", "# Report\n```\nrows\n```\n"),
        (f"So:\n````\n{REPORT}\n````", "# Report\n```\nrows\n```\n"),
        ("```python\r\noutput = 'windows'\r\n```\r\n", "windows"),
    ],
)
async def test_the_program_of_a_reply_is_its_only_block(reply: str, value: str) -> None:
    coder = coder_of(Message("assistant", reply), rounds=1)
    assert (await coder.answer(Task("say"), {"input": "x"})).value == value


CATCHING = """
await pay(n=7)
try:
    for _ in range(40):
        await llm('x' * 300)
except Exception:
    pass
for n in range(3):
    try:
        await pay(n=n)
    except Exception:
        pass
output = 'on'
"""


@pytest.mark.parametrize("code", [CATCHING, CATCHING.replace("'on'", "str(1 // 0)")])
@pytest.mark.parametrize("way", ["answer", "run"])
async def test_a_program_that_catches_a_cap_calls_nothing_more(code: str, way: str) -> None:
    payments = Payments(models=[Scripted(lambda _: "said", repeat=True)])
    coder = coder_of(code, session=opened(caps=Caps(tokens=500)))
    with pytest.raises(CapReached, match="tokens are spent") as raised:
        if way == "answer":
            await coder.answer(payments.task, {"month": "June"})
        else:
            await coder.run(payments.task, code, {"month": "June"})
    assert payments.paid == [7] and said(coder.session) == []
    assert "It had called pay (1 done)" in str(raised.value.__notes__)


async def test_cancelling_while_models_write_leaves_no_task_behind() -> None:
    begun = asyncio.Event()

    async def never(_: object) -> str:
        begun.set()
        await asyncio.sleep(600)
        return ""

    coder = coder_of(never, never, candidates=2)
    answering = asyncio.ensure_future(coder.answer(solving(), QUESTION))
    await begun.wait()
    answering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await answering
    assert said(coder.session) == [] and len(asyncio.all_tasks()) == 1
