"""A stream that somebody holds and does not read: the conversation goes on without waiting for it."""

import asyncio

import pytest

from quire.bridges.autonomy import Agent, Node
from quire.models import Scripted
from tests.bridges.autonomy.talking import run, text

LONG = "word " * 200


@pytest.mark.parametrize("reply", ["Not yet.", LONG])
def test_a_message_is_answered_while_a_stream_is_held(reply: str) -> None:
    async def serve() -> None:
        node = Node()
        agent = await Agent.start(node, model=Scripted([reply, "Now."]))
        stream = agent.send_stream("Well?", scope="ana")
        first = await anext(stream)
        answer = await asyncio.wait_for(agent.send("And now?", scope="ana"), 600)
        assert text(answer[-1]) == "Now."
        assert (await agent.get_conversation_state(scope="ana"))["state"] == "idle"
        rest = [message async for message in stream]
        assert "".join(map(text, [first, *rest])) == reply
        await node.stop()

    run(serve)
