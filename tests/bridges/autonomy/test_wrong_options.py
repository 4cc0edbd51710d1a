"""What is wrong with an option of an agent is said when it is started, by the name of the option."""

from typing import Any

import pytest

from quire.bridges.autonomy import Agent, Node
from quire.errors import InvalidValue, QuireError, WrongType
from quire.models import Scripted
from tests.bridges.autonomy.talking import echo, run


def clerk(**told: Any) -> dict[str, Any]:
    return {"subagents": {"clerk": {"instructions": "Write.", **told}}}


@pytest.mark.parametrize(
    ("wrong", "fault", "name"),
    [
        ({"context_template": "x"}, WrongType, "context_template"),
        ({"context_template": []}, WrongType, "context_template"),
        ({"model": Scripted}, WrongType, "model"),
        ({"tools": [3]}, WrongType, "tools"),
        ({"tools": [None]}, WrongType, "tools"),
        ({"tools": "look"}, WrongType, "tools"),
        ({"tools": 3}, WrongType, "tools"),
        ({"timeout": "x"}, WrongType, "timeout"),
        ({"timeout": -1}, InvalidValue, "timeout"),
        ({"colour": "red"}, WrongType, "colour"),
        ({"filesystem_root": 3, "enable_filesystem": True}, WrongType, "filesystem_root"),
        (clerk(tools=[3]), WrongType, "tools of the subagent 'clerk'"),
        (clerk(model=Scripted), WrongType, "model"),
        ({"subagents": {3: {"instructions": "Write."}}}, WrongType, "subagent"),
    ],
)
def test_a_wrong_option_is_named_when_the_agent_is_started(
    wrong: Any, fault: type[QuireError], name: str
) -> None:
    async def talk() -> None:
        async with Node() as node:
            with pytest.raises(fault) as caught:
                await Agent.start(**({"node": node, "model": Scripted(echo)} | wrong))
            assert name in "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
            assert node.agents == ()

    run(talk)
