"""A memory: all that was said, scopes apart."""

from pathlib import Path

from quire.bridges.autonomy import Agent, Memory, Node
from quire.models import Scripted
from tests.bridges.autonomy.talking import line, lines, run, said, text


def test_messages_are_kept_in_the_order_they_were_added() -> None:
    async def talk() -> None:
        memory = Memory()
        for n in range(5):
            await memory.add_message("ana", "one", line(n))
        await memory.add_messages("ana", "one", [line(5), line(6)])
        assert lines(await memory.get_messages_only("ana", "one")) == list(range(7))
        assert await memory.get_message_count("ana", "one") == 7

    run(talk)


def test_nothing_of_one_scope_or_conversation_is_in_another() -> None:
    async def talk() -> None:
        memory = Memory()
        places = [
            ("ana", "one"),
            ("ana", "two"),
            ("bob", "one"),
            ("", ""),
            ("a/b", "c"),
            ("a", "b/c"),
            ("a:b", "c"),
        ]
        for n, (scope, conversation) in enumerate(places):
            await memory.add_message(scope, conversation, line(n))
        for n, (scope, conversation) in enumerate(places):
            assert lines(await memory.get_messages_only(scope, conversation)) == [n]
        assert await memory.get_messages_only("a:b:c", "") == []

    run(talk)


def test_instructions_come_first_and_are_no_messages() -> None:
    async def talk() -> None:
        memory = Memory()
        memory.set_instructions([said("system", "Be brief.")])
        await memory.add_message("ana", "one", line(0))
        assert [text(one) for one in await memory.get_messages("ana", "one")] == ["Be brief.", "line 0."]
        assert await memory.get_message_count("ana", "one") == 1

    run(talk)


def test_what_is_cleared_is_gone_and_the_conversation_can_go_on() -> None:
    async def talk() -> None:
        memory = Memory()
        await memory.add_messages("ana", "one", map(line, range(6)))
        await memory.add_message("ana", "two", line(9))
        await memory.clear_short_term_memory("ana", "one")
        assert await memory.get_messages_only("ana", "one") == []
        await memory.add_message("ana", "one", line(7))
        assert lines(await memory.get_messages_only("ana", "one")) == [7]
        assert len(memory.session("ana", "one").view()) <= 2 and "line 0" not in str(
            memory.session("ana", "one").view().recorded()
        )
        assert lines(await memory.get_messages_only("ana", "two")) == [9]
        await memory.delete_conversation("ana", "two")
        await memory.delete_conversation("ana", "nobody spoke here")
        assert await memory.get_message_count("ana", "two") == 0

    run(talk)


def test_a_memory_with_a_store_outlives_the_process(tmp_path: Path) -> None:
    async def talk() -> None:
        await Memory(store=tmp_path / "talks.db").add_message("ana", "one", line(0))
        assert lines(await Memory(store=tmp_path / "talks.db").get_messages_only("ana", "one")) == [0]

    run(talk)


def test_many_conversations_are_all_there() -> None:
    async def talk() -> None:
        memory = Memory()
        for n in range(600):
            await memory.add_message(f"scope {n}", "one", line(n))
        for n in range(0, 600, 50):
            assert lines(await memory.get_messages_only(f"scope {n}", "one")) == [n]

    run(talk)


def test_an_agent_answers_to_what_was_added_to_its_memory() -> None:
    async def talk() -> None:
        model = Scripted(["Yes."])
        async with Node() as node:
            agent = await Agent.start(node, instructions="Be brief.", model=model)
            await agent.memory.add_messages(
                "ana", "one", [said("user", "line 1."), said("assistant", "line 2.")]
            )
            await agent.send("line 3.", scope="ana", conversation="one")
            assert lines(model.requests[0].payload["messages"]) == [1, 2, 3]
            assert await agent.memory.get_message_count("ana", "one") == 4
            assert await agent.memory.get_message_count("bob", "one") == 0

    run(talk)
