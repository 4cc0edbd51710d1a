"""Autonomy's agent: started on a node, and known by a reference from then on."""

import logging
from collections.abc import Sequence
from typing import Any, Unpack

from quire.bridges.autonomy.hosting import Hosted, Options, setup_of
from quire.bridges.autonomy.models import Chat
from quire.bridges.autonomy.reference import AgentReference
from quire.errors import WrongType
from quire.items import new_id
from quire.models import AnyModel
from quire.node import Node
from quire.tokens import whole

logger = logging.getLogger("quire.bridges.autonomy")

_NO_EFFECT = ("voice", "exposed_as", "subagent_runner_filter")


class Agent:
    """Starts agents. One that was started is known by its reference."""

    @staticmethod
    async def start(
        node: Node,
        instructions: str = "",
        name: str | None = None,
        model: AnyModel | Chat | str | None = None,
        tools: Sequence[Any] | None = None,
        **options: Unpack[Options],
    ) -> AgentReference:
        """Host an agent on a node, under a name or a random one; see `Options` for what can be chosen."""
        if not isinstance(node, Node):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"an agent is started on a node, not {type(node).__name__}")
        setup = setup_of(options)
        for option in _NO_EFFECT:
            if getattr(setup, option) is not None:
                logger.warning("%s has no effect here", option)
        hosted = Hosted(node, new_id() if name is None else name, instructions, model, tools or (), setup)
        node.add(hosted.name, hosted.make)
        return AgentReference(node, hosted)

    @staticmethod
    async def start_many(
        node: Node,
        instructions: str = "",
        number_of_agents: int = 2,
        name: str | None = None,
        model: AnyModel | Chat | str | None = None,
        tools: Sequence[Any] | None = None,
        **options: Unpack[Options],
    ) -> list[AgentReference]:
        """Host several agents that are alike: under random names, or `name-1`, `name-2` and so on."""
        whole(number_of_agents, "number_of_agents", least=1)
        names = [None if name is None else f"{name}-{n}" for n in range(1, number_of_agents + 1)]
        return [await Agent.start(node, instructions, one, model, tools, **options) for one in names]
