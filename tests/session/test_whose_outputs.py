"""Whose an output is: of the result whose tool gave it, and not of who speaks of it."""

import asyncio
import re
from base64 import b64encode
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

from quire import Note, Session, ToolResult
from quire.agent import Agent, Tool, tool
from quire.agent.builtin import Role, delegating_tools
from quire.agent.tools import run
from quire.compactors import Offload, Room
from quire.errors import WrongType
from quire.items import Item, Message
from quire.models import Scripted
from quire.stores import SQLiteStore
from quire.tokens import counter_for
from tests.agent.answering import call
from tests.session.test_gone_outputs import SECRETS, WORDS, bytes_in, look, result_id, session_in

AS_BASE64 = b64encode(WORDS.encode()[:60])
INVOICE = '{"invoice": 991, "customer": "Bob Meyer", "mail": "bob@meyer.example", "total": "120.50"}'


@tool(name="look")
async def bytes_given() -> AsyncIterator[object]:
    """Give a file after some words."""
    yield "Here is the file:"
    yield WORDS.encode() + b"\xff"


@tool(name="look")
async def bytes_between() -> AsyncIterator[object]:
    """Give a file in the middle of many words, of which the middle is not shown."""
    yield "line " * 20_000
    yield WORDS.encode() + b"\xff"
    yield "line " * 20_000


@tool(name="look")
async def fails_at_length() -> AsyncIterator[object]:
    """Give something, and fail."""
    yield "Reading:"
    raise ValueError(WORDS)


@tool(name="look")
async def gives_numbers() -> str:
    """Give numbers that nobody is to see, wherever the text is cut."""
    return "+49 170 1234567 " * 9_000 + "MIDSECRET" + "+49 170 1234567 " * 3_000


def without_numbers(item: Item) -> Item:
    if isinstance(item, ToolResult | Note) and isinstance(item.content, str):
        return replace(item, content=re.sub(r"\+\d\d \d{3} \d{7}", "[number]", item.content))
    return item


@pytest.mark.parametrize("given", [bytes_given, bytes_between, fails_at_length, gives_numbers])
@pytest.mark.parametrize("chosen", ["the result", "the note"])
def test_whatever_is_kept_of_an_output_goes_with_it(tmp_path: Path, given: Tool, chosen: str) -> None:
    async def talk() -> None:
        store = SQLiteStore(tmp_path / "quire.db")
        session = Session.open("ana/one", store=store, redact=without_numbers)
        await Agent(session, model=Scripted([call("look"), "Looked."]), tools=[given]).ask("look")
        note = next(note for note in session.pool if "line line" not in str(note.content))
        assert any(secret in bytes_in(tmp_path) for secret in (*SECRETS, AS_BASE64))
        await session.erase(note.id if chosen == "the note" else result_id(session))
        assert list(session.pool) == []
        assert [item.text for item in session.view() if isinstance(item, ToolResult)] == ["[forgotten]"]
        await session.close()

    asyncio.run(talk())
    left = bytes_in(tmp_path)
    assert not any(secret in left for secret in (*SECRETS, AS_BASE64, b"[number]"))


@tool
async def send(customer: str, attachment: str) -> str:
    """Send somebody something."""
    return INVOICE


def test_who_was_given_a_handle_has_nothing_of_the_output(tmp_path: Path) -> None:
    async def talk() -> None:
        session = session_in(tmp_path)
        session.keep(Note(INVOICE, key="invoice-991", description="Bob's invoice"))
        await Agent(session, model=Scripted([call("look"), "Looked."]), tools=[look]).ask("look")
        handle = next(note.key for note in session.pool if "SECRET" in str(note.content))
        sending = call("send", f'{{"customer": "Bob", "attachment": "{handle}"}}')
        await Agent(session, model=Scripted([sending, "Sent."]), tools=[send]).ask("send it")
        await session.erase(result_id(session))
        left = {item.name: item.text for item in session.view() if isinstance(item, ToolResult)}
        assert left == {"look": "[forgotten]", "send": INVOICE}
        assert [note.key for note in session.pool] == ["invoice-991"]
        await session.close()

    asyncio.run(talk())


@pytest.mark.parametrize("where", ["in a fork", "after it was moved"])
def test_who_quotes_a_handle_does_not_own_it(tmp_path: Path, where: str) -> None:
    async def talk() -> None:
        session = session_in(tmp_path)
        if where == "in a fork":
            await Agent(session, model=Scripted([call("look"), "Looked."]), tools=[look]).ask("look")
        else:
            session.tool(WORDS, call_id=session.call("look", {}).call_id)
            session.assistant("Looked.")
            await session.compact(by=Offload(keep=0, ceiling=0), room=Room(3_000, counter_for("gpt-4o")))
        [note] = session.pool
        other = session.fork("other") if where == "in a fork" else session
        words = f"Ana Souza owes 49.90. The whole list is kept as {note.key}."
        told = other.tool(words, call_id=other.call("ticket", {}).call_id)
        await other.erase(told.id)
        assert [str(one.content) for one in session.pool] == [WORDS]
        assert [item for item in session.view() if item.id == result_id(session)] != []
        await session.close()

    asyncio.run(talk())
    assert all(secret in bytes_in(tmp_path) for secret in SECRETS)


def test_who_records_by_hand_need_not_say_whose_it_is(tmp_path: Path) -> None:
    async def talk() -> None:
        session = session_in(tmp_path)
        asked = session.call("look", {})
        outcome = await run(look, {}, session=session)
        for note in outcome.notes:
            session.keep(note)
        result = session.tool(outcome.content, call_id=asked.call_id)
        await session.erase(result.id)
        assert list(session.pool) == []
        await session.close()

    asyncio.run(talk())
    assert not any(secret in bytes_in(tmp_path) for secret in SECRETS)


@pytest.mark.parametrize("returns", ["answer", "all"])
def test_the_long_answer_of_who_was_asked_goes_with_the_result(tmp_path: Path, returns: str) -> None:
    async def talk() -> None:
        session = session_in(tmp_path)
        role = Role(
            name="checker",
            description="Checks.",
            returns="all" if returns == "all" else "answer",
            make=lambda own: Agent(own, model=Scripted([WORDS])),
        )
        asking = call("delegate", '{"to": "checker", "task": "Report."}')
        tools = delegating_tools(role)
        await Agent(session, model=Scripted([asking, "Done."]), tools=tools).ask("have it checked")
        [result] = [item for item in session.view() if isinstance(item, ToolResult)]
        await session.erase(result.id)
        await session.close()

    asyncio.run(talk())
    assert not any(secret in bytes_in(tmp_path) for secret in SECRETS)


def test_what_is_forgotten_while_it_is_given_again_does_not_come_back(tmp_path: Path) -> None:
    async def talk() -> None:
        session = session_in(tmp_path)
        begun, go_on = asyncio.Event(), asyncio.Event()
        await Agent(session, model=Scripted([call("look"), "Looked."]), tools=[look]).ask("look")

        @tool(name="look")
        async def slowly() -> str:
            """Look again."""
            begun.set()
            await go_on.wait()
            return WORDS

        model = Scripted([call("look", "{}", "again"), "The same."])
        asking = asyncio.create_task(Agent(session, model=model, tools=[slowly]).ask("look again"))
        await begun.wait()
        await session.erase(result_id(session))
        go_on.set()
        assert (await asking).text == "The same."
        said = [item for item in session.view() if not isinstance(item, Message)]
        assert not any("SECRET" in str(item) for item in said)
        await session.close()

    asyncio.run(talk())
    assert not any(secret in bytes_in(tmp_path) for secret in SECRETS)


@pytest.mark.parametrize("verb", ["keep", "put", "put, given by the call"])
def test_a_note_of_a_call_that_was_begun_tells_of_nothing_forgotten_since(tmp_path: Path, verb: str) -> None:
    async def talk() -> None:
        session = session_in(tmp_path)
        secret = session.user("Ana has the account DE89370400440532013000.")
        asked = session.call("export", {})
        await session.begin(asked)

        @tool(max_output=300)
        async def export() -> str:
            """All that was said, with much around it."""
            text = "line\n" * 200 + "\n".join(
                item.text for item in session.view() if isinstance(item, Message)
            )
            await session.erase(secret.id)
            return text + "\nline" * 200

        outcome = await run(export, {}, session=session)
        for note in outcome.notes:
            if verb == "keep":
                session.keep(note)
            else:
                await session.put(note, given_by=None if verb == "put" else asked)
        session.tool(outcome.content, call_id=asked.call_id)
        assert list(session.pool) == []
        await session.close()

    asyncio.run(talk())
    assert b"DE8937" not in bytes_in(tmp_path)


def test_what_gave_a_note_is_a_call(tmp_path: Path) -> None:
    session, given_by = session_in(tmp_path), cast("Any", "call_1")
    note = Note("x", key="a", description="b")
    with pytest.raises(WrongType, match="given by a ToolCall, not by a str"):
        session.keep(note, given_by=given_by)
    with pytest.raises(WrongType, match="given by a ToolCall, not by a str"):
        asyncio.run(session.put(note, given_by=given_by))
    assert list(session.pool) == []
