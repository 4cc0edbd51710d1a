"""What a task is given, by whatever names, and where what succeeded is recorded by then."""

import asyncio
from typing import Any

import pytest

from quire import Message, Session, ToolCall
from quire.agent import tool
from quire.errors import InvalidValue, WrongType
from quire.models import Scripted
from quire.programs import Coder, Task
from quire.programs.recording import PROGRAM
from quire.state import groups
from quire.stores import MemoryStore
from tests.programs.coding import ADDING, assert_whole, coder_of, run, said, solving

OURS = {"tell": "a", "session": "b", "given": "c", "task": "d", "self": "e"}
JOINED = "output = tell + session + given + task + self"


def joining() -> Task:
    return Task("join", input=dict.fromkeys(OURS, str), output=str)


def test_inputs_may_have_any_name() -> None:
    async def work() -> None:
        coder = coder_of(JOINED, JOINED)
        assert (await coder.answer(joining(), OURS)).value == "abcde"
        assert (await coder.run(joining(), JOINED, OURS)).value == "abcde"
        kept = await coder.keep(joining())
        assert await kept.run(OURS) == await kept(**OURS) == "abcde"

    run(work)


def test_nothing_is_given_twice() -> None:
    async def work() -> None:
        coder = coder_of(ADDING)
        with pytest.raises(InvalidValue, match="'problem' is given twice"):
            await coder.answer(solving(), {"problem": "?"}, problem="?")
        with pytest.raises(WrongType, match="mapping"):
            await coder.answer(solving(), "?")  # type: ignore[arg-type]
        assert coder.session.transcripts == ("main",)

    run(work)


def test_which_transcript_is_main_is_asked_when_it_is_written() -> None:
    names = iter(["main~2", "main~3", "main~4"])
    session = Session.open("ana/one", store=MemoryStore())

    async def work() -> None:
        coder = coder_of(ADDING, ADDING, session=session, main=lambda: next(names))
        await coder.answer(solving(), problem="?")
        await coder.run(solving(), ADDING, problem="?")
        await (await coder.keep(solving())).run(problem="?")
        assert [len(said(session, f"main~{n}")) for n in (2, 3, 4)] == [4, 4, 4] and said(session) == []

    run(work)


def test_an_attempt_at_a_program_that_was_at_hand_has_the_program() -> None:
    async def work() -> None:
        coder = coder_of(ADDING)
        await coder.run(solving(), ADDING, problem="?")
        kept = await coder.keep(solving())
        await kept.run(problem="?")
        for name in ("attempt_a", "attempt_c"):
            kinds = [kind for kind, _ in said(coder.session, name)]
            assert kinds == ["user", "assistant", "user", "call", "result"]
            assert ADDING in said(coder.session, name)[1][1]
            assert_whole(coder.session, name)

    run(work)


def test_what_ran_side_by_side_is_in_main_as_the_same_items() -> None:
    first_is_asked, second_is_answered = asyncio.Event(), asyncio.Event()

    async def late(_: Any) -> str:
        first_is_asked.set()
        await second_is_answered.wait()
        return "A"

    @tool
    async def wait() -> str:
        """Wait for the other."""
        await second_is_answered.wait()
        return "C"

    async def early(_: Any) -> str:
        await first_is_asked.wait()
        asyncio.get_running_loop().call_later(0.01, second_is_answered.set)
        return "B"

    async def work() -> None:
        models = [Scripted([late], name="one"), Scripted([early], name="two")]
        task = Task("ask", input={"x": int}, output=list[str], models=models, tools=[wait])
        coder = Coder(session=Session.open("ana/one", store=MemoryStore()))
        code = "import asyncio\noutput = list(await asyncio.gather(llm_a('1'), wait(), llm_b('2')))"
        assert (await coder.run(task, code, x=1)).value == ["A", "C", "B"]
        beside = [name for name in coder.session.transcripts if name != "main"]
        known = {item.id: item for name in beside for item in coder.session.view(name)}
        main = list(coder.session.view())[1:-1]
        assert len(main) == 6 and main == [known[item.id] for item in main]
        texts = [text for _, text in said(coder.session)][1:-1]
        assert texts.index("A") == texts.index("1") + 1 and texts.index("B") == texts.index("2") + 1
        assert texts.index("C") == texts.index("wait {}") + 1
        assert_whole(coder.session)

    run(work)


def test_calls_of_a_program_are_no_part_of_what_a_model_said_before_them() -> None:
    async def work() -> None:
        small = Scripted(["four"], name="small")
        coder = coder_of(f"await llm('?')\n{ADDING}")
        await coder.answer(solving(models=[small]), problem="?")
        items = list(coder.session.view())
        (call,) = (item for item in items if isinstance(item, ToolCall))
        assert call.agent_id == PROGRAM
        (around,) = (group.items for group in groups(items) if call in group.items)
        assert not any(isinstance(item, Message) for item in around)

    run(work)
