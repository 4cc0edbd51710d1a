"""What an answer used is counted, whatever the reason for which the answer itself cannot be kept."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from quire import Agent, tool
from quire.errors import QuireError, StoreFailed
from quire.items import Message, ToolCall, ToolResult
from quire.models import Scripted
from quire.providers import Parsed
from quire.stores import Entry, MemoryStore, Place
from quire.stores.streams import MAIN
from quire.tokens import Usage
from tests.providers.answers import answer
from tests.session.opened import session, texts

HALF = "Well done \ud83d"
KEEPING = pytest.mark.parametrize("is_awaited", [False, True])


def keep(one: Any, response: Any, is_awaited: bool) -> Any:
    return asyncio.run(one.add_response(response)) if is_awaited else one.record(response)


@KEEPING
def test_an_answer_with_half_a_pair_is_kept(is_awaited: bool) -> None:
    one = session()
    body = json.loads(
        json.dumps(answer("openai", "gpt-5.6", 1, 2, 2)).replace("answer 1", "Well done \\ud83d")
    )
    keep(one, body, is_awaited)
    assert texts(one.view())[0] == "Well done \ufffd" and one.spending.requests == 1


@KEEPING
@pytest.mark.parametrize("is_bytes", [False, True])
def test_an_answer_as_text_with_half_a_pair_is_kept(is_awaited: bool, is_bytes: bool) -> None:
    one = session()
    text = json.dumps(answer("openai", "gpt-5.6", 1, 2, 2)).replace("answer 1", "Well done \\ud83d")
    keep(one, text.encode() if is_bytes else text, is_awaited)
    assert texts(one.view())[0] == "Well done \ufffd" and one.spending.requests == 1


@KEEPING
def test_what_cannot_be_encoded_is_counted(is_awaited: bool) -> None:
    one = session()
    parsed = Parsed((Message("assistant", "x", extras={"a": {1}}),), Usage(1_800, 100), "stop", "gpt-5.6")
    with pytest.raises(QuireError):
        keep(one, parsed, is_awaited)
    assert texts(one.view()) == [] and one.spending.requests == 1 and one.spending.tokens == 1_900


@KEEPING
def test_what_is_there_already_is_counted(is_awaited: bool) -> None:
    one = session()
    message = Message("assistant", "done")
    one.append(message)
    with pytest.raises(QuireError):
        keep(one, Parsed((message,), Usage(1_800, 100), "stop", "gpt-5.6"), is_awaited)
    assert one.spending.requests == 1


class Faulty(MemoryStore):
    """A store that fails once with what is said, and has kept it, or has not."""

    def __init__(self, has_kept: bool) -> None:
        super().__init__()
        self._has_kept, self._is_due = has_kept, True

    def append(self, place: Place, entries: Sequence[Entry], *, expected: int) -> int:
        if self._is_due and any(entry.stream == MAIN for entry in entries):
            self._is_due = False
            if self._has_kept:
                super().append(place, entries, expected=expected)
            raise StoreFailed("the line broke")
        return super().append(place, entries, expected=expected)


@KEEPING
@pytest.mark.parametrize("has_kept", [False, True])
def test_what_a_store_fails_to_keep_is_counted_once(is_awaited: bool, has_kept: bool) -> None:
    one = session(Faulty(has_kept))
    with pytest.raises(StoreFailed):
        keep(one, Parsed((Message("assistant", "done"),), Usage(1_800, 100), "stop", "gpt-5.6"), is_awaited)
    one.refresh()
    assert one.spending.requests == 1 and texts(one.view()) == (["done"] if has_kept else [])


def test_what_was_listened_to_is_counted() -> None:
    one = session()
    chunk = {"object": "chat.completion.chunk", "model": "gpt-5.6"}
    events = [
        {**chunk, "choices": [{"index": 0, "delta": {"content": piece}}]}
        for piece in ("Well done ", "\ud83d", "\ude00!")
    ]
    usage = {"prompt_tokens": 9, "completion_tokens": 3}
    with one.listen([*events, {**chunk, "choices": [], "usage": usage}]) as listening:
        assert len(list(listening)) == 4
    assert texts(one.view()) == ["Well done 😀!"] and one.spending.requests == 1


def test_the_result_of_a_tool_of_an_agent_is_mended() -> None:
    @tool
    def listed() -> str:
        """The names of files."""
        return b"caf\xe9.txt".decode("utf8", "surrogateescape") + "\ud83d\ude00"

    one = session()
    agent = Agent(one, model=Scripted([[ToolCall("c1", "listed", "{}")], "done"]), tools=[listed])
    asyncio.run(agent.ask("What is there?"))
    results = [item.content for item in one.view() if isinstance(item, ToolResult)]
    assert results == ["caf\ufffd.txt😀"]
