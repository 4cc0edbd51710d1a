"""Agents as plain values, and back."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from quire.bridges.pygents.context_pool import ContextPool
from quire.bridges.pygents.context_queue import ContextQueue
from quire.bridges.pygents.declared import DeclaredHook
from quire.bridges.pygents.dicts import read_list, read_mapping
from quire.bridges.pygents.hook_lists import saved_hooks_of, saved_names
from quire.bridges.pygents.turn import Turn
from quire.bridges.pygents.turn_dicts import inside
from quire.errors import Damaged

if TYPE_CHECKING:
    from quire.bridges.pygents.agent import Agent


class Saved(NamedTuple):
    """What was written of an agent."""

    name: str
    description: str
    tool_names: list[str]
    turns: list[Turn]
    hooks: list[DeclaredHook]
    context_pool: ContextPool
    context_queue: ContextQueue
    is_paused: bool


def agent_as_dict(agent: "Agent") -> dict[str, Any]:
    """The plain values of an agent."""
    queue = enumerate(agent.pending_turns)
    current = agent.current_turn
    return {
        "name": agent.name,
        "description": agent.description,
        "tool_names": [tool.name for tool in agent.tools],
        "queue": [inside(f"$.queue[{index}]", turn.to_dict) for index, turn in queue],
        "current_turn": None if current is None else inside("$.current_turn", current.to_dict),
        "hooks": saved_names(agent.hooks),
        "context_pool": inside("$.context_pool", agent.context_pool.to_dict),
        "context_queue": inside("$.context_queue", agent.context_queue.to_dict),
        "is_paused": agent.is_paused,
    }


def read_agent(data: object) -> Saved:
    """What was written of an agent, checked; its tools and hooks have to be declared."""
    fields = read_mapping(data, "$")
    names = read_list(fields.get("tool_names"), "$.tool_names")
    if not all(isinstance(name, str) for name in names):
        raise Damaged("tools are written by their names", "$.tool_names")
    return Saved(
        _text(fields, "name"),
        _text(fields, "description"),
        cast(list[str], names),
        _turns(fields),
        saved_hooks_of(data),
        inside("$.context_pool", partial(ContextPool.from_dict, fields.get("context_pool"))),
        inside("$.context_queue", partial(ContextQueue.from_dict, fields.get("context_queue"))),
        bool(fields.get("is_paused", False)),
    )


def _turns(fields: Mapping[str, Any]) -> list[Turn]:
    """The turns that wait; one that was under way comes first."""
    current = fields.get("current_turn")
    first = [] if current is None else [inside("$.current_turn", partial(Turn.from_dict, current))]
    queue = enumerate(read_list(fields.get("queue"), "$.queue"))
    return first + [inside(f"$.queue[{index}]", partial(Turn.from_dict, turn)) for index, turn in queue]


def _text(fields: Mapping[str, Any], name: str) -> str:
    text = fields.get(name)
    if not isinstance(text, str):
        raise Damaged(f"the {name} of an agent is a text", f"$.{name}")
    return text
