"""What can be asked: a question without words and parts is none, whatever it is wrapped in."""

from typing import Any

import pytest

from quire.errors import InvalidValue
from quire.items import Message
from tests.agent.answering import agent_of, run


@pytest.mark.parametrize("nothing", ["", [], (), Message("user", "")])
def test_nothing_is_not_asked(nothing: Any) -> None:
    async def talk() -> None:
        agent = agent_of("Hm.")
        with pytest.raises(InvalidValue):
            await agent.ask(nothing)
        assert list(agent.session.view()) == []

    run(talk)
