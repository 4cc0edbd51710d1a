"""What programs leave behind: attempts and questions beside `main`, each message once, also in files."""

import asyncio
import json
from pathlib import Path

from pydantic import BaseModel

from quire.bridges.a1 import LLM, Compact, Context, Runtime, Strategy, TruncateOldest, tool
from quire.items import Message as Words, ToolCall, ToolResult
from quire.models import Scripted
from tests.bridges.a1.coded import (
    ASKING,
    BROKEN,
    CALLING,
    PLAIN,
    Bill,
    Quote,
    llm,
    multiply,
    run,
    seller,
    shown,
    writing,
    written,
)

ONE = Strategy(num_candidates=1)


def test_what_is_also_in_main_is_the_same_message_and_a_timeline_has_it_once() -> None:
    runtime = writing(f"await multiply(a=1, b=1)\n{ASKING}", strategy=ONE)
    run(runtime.jit(seller(multiply, llm("ten")), lamps=3))
    main, attempt, asked = (runtime.CTX[name] for name in ("main", "attempt_a", "intermediate_a"))
    ids = [message.message_id for message in main]
    assert [message.message_id for message in asked] == ids[3:5]
    assert [message.message_id for message in attempt][-2:] == ids[1:3], "the call and its result"
    whole = runtime.get_full_context()
    assert len(whole) == len({message.message_id for message in whole}) == len(main) + len(attempt) - 2
    assert len(runtime.get_full_context(["main", "intermediate"])) == len(main) == 6


def test_contexts_that_were_made_before_are_left_to_those_who_made_them() -> None:
    runtime = writing(ASKING, strategy=ONE)
    attempt, asked = runtime.new_context("attempt"), runtime.new_context("intermediate")
    run(runtime.jit(seller(llm("ten")), lamps=3))
    assert len(attempt) == len(asked) == 0
    assert set(runtime.CTX) == {"main", "attempt_a", "attempt_b", "intermediate_a", "intermediate_b"}


def test_calls_side_by_side_stand_next_to_their_results() -> None:
    both = "import asyncio\nx, y = await asyncio.gather(slow(a=3), multiply(a=1, b=1))\n" + PLAIN

    @tool
    async def slow(a: int) -> int:
        """Take some time."""
        await asyncio.sleep(0.05)
        return a

    async def all_ways() -> None:
        runtime = writing(both, strategy=ONE)
        agent = seller(slow, multiply)
        await runtime.jit(agent, lamps=3)
        first = [role for role, _ in shown(runtime.get_context())][1:-1]
        runtime.get_context().clear()
        await (await runtime.aot(agent, cache=False))(lamps=3)
        assert first == [role for role, _ in shown(runtime.get_context())] == ["assistant", "tool"] * 2

    run(all_ways())


def test_a_call_of_a_program_is_no_part_of_what_a_model_said_before_it() -> None:
    runtime = writing(ASKING.replace("output", "await multiply(a=1, b=1)\noutput"), strategy=ONE)
    run(runtime.jit(seller(multiply, llm("ten")), lamps=3))
    said, call = runtime.get_context()[2:4]
    assert (said.content, said.tool_calls) == ("ten", None)
    assert call.content == "" and call.tool_calls and call.tool_calls[0]["function"]["name"] == "multiply"


def test_the_calls_of_a_reply_are_part_of_it() -> None:
    context = Context()
    reply = (Words("assistant", "looking"), ToolCall("toolu_1", "find"), ToolCall("toolu_2", "find"))
    context.session.append(*reply, ToolResult("toolu_1", "find", "x"), ToolResult("toolu_2", "find", "y"))
    assert len(context) == 3 and len(context[0].tool_calls or ()) == 2


def test_a_context_that_was_cleared_is_recorded_in_where_it_is_shown() -> None:
    async def cleared() -> None:
        runtime = writing(CALLING, strategy=ONE)
        main, agent = runtime.get_context(), seller(multiply)
        compiled = await runtime.aot(agent, cache=False)
        for recorded, messages in (
            (lambda: runtime.jit(agent, lamps=3), 4),
            (lambda: compiled.execute(lamps=3), 4),
            (lambda: compiled(lamps=3), 2),
            (lambda: runtime.execute(multiply, a=1, b=1), 2),
        ):
            main.user("away with this")
            main.clear()
            await recorded()
            assert len(main) == messages, main.messages

    run(cleared())


def test_what_is_cleared_while_a_program_runs_is_recorded_in_where_it_is_shown_then() -> None:
    async def cleared() -> None:
        runtime = writing("await clear()\n" + PLAIN, strategy=ONE)
        main = runtime.get_context()

        @tool
        async def clear() -> str:
            """Begin anew."""
            main.clear()
            return "cleared"

        agent = seller(clear)
        compiled = await runtime.aot(agent, cache=False)
        for recorded, messages in (
            (lambda: runtime.jit(agent, lamps=3), 4),
            (lambda: compiled.execute(lamps=3), 4),
            (lambda: compiled(lamps=3), 2),
        ):
            main.user("away with this")
            await recorded()
            assert len(main) == messages, main.messages

    run(cleared())


def test_strategies_are_told_what_became_of_each_program() -> None:
    told: list[list[tuple[str, str]]] = []
    programs = iter(["output = anser", f"await multiply(a=1, b=1)\n{BROKEN}", PLAIN])

    class Writing:
        async def generate(self, past_attempts: list[tuple[str, str]], **_: object) -> str:
            told.append(past_attempts)
            return next(programs)

    runtime = Runtime(generate=Writing(), strategy=ONE)
    assert run(runtime.jit(seller(multiply), lamps=3)) == Bill(total="15")
    names, raised = (said for _, said in told[-1])
    assert "anser" in names and "ZeroDivisionError" in raised and "multiply" in raised


def test_an_input_may_be_called_as_one_likes() -> None:
    class Told(BaseModel):
        tell: str
        session: str

    runtime = writing("output = {'total': tell + session}", strategy=ONE)
    agent = seller(input_schema=Told)
    assert run(runtime.jit(agent, tell="a", session="b")) == Bill(total="ab")


def test_all_of_it_is_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "shop.json"
    replies = Scripted([*written(f"await multiply(a=1, b=1)\n{ASKING}")])
    runtime = Runtime.from_file(file, keep_updated=True, generate=replies, strategy=ONE)
    run(runtime.jit(seller(multiply, llm("ten")), lamps=3))
    json.loads(file.read_text())
    again = Runtime.from_file(file)
    assert set(again.CTX) == {"main", "attempt_a", "intermediate_a"}
    assert all(again.CTX[name].messages == runtime.CTX[name].messages for name in again.CTX)


def test_compaction_is_asked_once_for_each_thing_that_was_done() -> None:
    class Counting(Compact):
        asked = 0

        def compact(self, contexts: dict[str, Context]) -> dict[str, Context]:
            self.asked += 1
            return contexts

    async def done() -> None:
        counting = Counting()
        runtime = writing(CALLING, strategy=ONE, compact=counting)
        compiled = await runtime.aot(seller(multiply), cache=False)
        works = (
            runtime.jit(seller(multiply), lamps=3),
            runtime.execute(multiply, a=1, b=1),
            compiled.execute(lamps=3),
            compiled(lamps=3),
        )
        for n, work in enumerate(works):
            await work
            assert counting.asked == n + 1

    run(done())


def test_compaction_holds_after_a_program() -> None:
    runtime = writing(CALLING, strategy=ONE, compact=TruncateOldest(max_messages=4))
    for _ in range(3):
        run(runtime.jit(seller(multiply), lamps=3))
    assert [role for role, _ in shown(runtime.get_context())] == ["user", "assistant", "tool", "assistant"]


class Offer(BaseModel):
    """A bill with what it is made of."""

    total: str
    quotes: list[Quote] = []


def test_a_program_holds_a_model_to_a_schema_by_its_name() -> None:
    program = """quote = await llm_a("What is one lamp?", output_schema=Quote)
output = {"total": str(quote["price"] * lamps)}
"""
    model = Scripted(['{"price": 5, "reason": "brass"}'])
    runtime = writing(program, strategy=ONE)
    agent = seller(LLM(model), output_schema=Offer)
    assert run(runtime.jit(agent, lamps=3)) == Offer(total="15")
    schema = model.terms[0].get("output")
    assert schema is not None and set(schema["properties"]) == {"price", "reason"}
    assert shown(runtime.get_context())[1:3] == [
        ("user", "What is one lamp?"),
        ("assistant", {"price": 5, "reason": "brass"}),
    ]


class AppraiseResult(BaseModel):
    """Of the same name as the type that programs are told of the tool."""

    worth: int


def test_a_schema_may_have_the_name_of_any_type_that_programs_are_told_of() -> None:
    @tool
    async def appraise(lamps: int) -> AppraiseResult:
        """Say what lamps are worth."""
        return AppraiseResult(worth=lamps)

    program = """mine = await appraise(lamps=lamps)
theirs = await llm_a("And you?", output_schema=AppraiseResult)
output = {"total": str(mine["worth"] + theirs["worth"])}
"""
    runtime = writing(program, strategy=ONE)
    assert run(runtime.jit(seller(appraise, llm('{"worth": 4}')), lamps=3)) == Bill(total="7")


def test_several_models_have_a_letter_each() -> None:
    program = "a, b = await llm_a('1'), await llm_b('2')\noutput = {'total': a + b}"
    runtime = writing(program, strategy=ONE)
    agent = seller(llm("one"), [llm("two")])
    assert run(runtime.jit(agent, lamps=3)) == Bill(total="onetwo")
    alone = writing("output = {'total': await llm('1')}", strategy=ONE)
    assert run(alone.jit(seller(llm("one")), lamps=3)) == Bill(total="one")
