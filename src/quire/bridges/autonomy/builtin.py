"""The tools that come with an agent: the engine's own, as they are switched on when it is started."""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from textwrap import indent
from typing import Any

from quire.agent import Agent, Limits, Tool
from quire.agent.builtin import Role, Visibility, ask_user, delegating_tools, file_tools, time_tools
from quire.agent.tools import tools_of
from quire.bridges.autonomy.models import model_of
from quire.errors import InvalidValue, QuireError, WrongType, cut
from quire.models import AnyModel
from quire.session import Session
from quire.tokens import Definition, named, read_definition, single_definitions

_HEADING = "These tools come with you; use them where they help:"
_NO_EFFECT = frozenset(("auto_start", "runner_filter", "subagent_runner_filter"))
_OPTIONS = frozenset(
    ("instructions", "description", "model", "tools", "max_iterations", "max_execution_time")
)


def asking_and_files(
    *, asks: bool, files: bool, visibility: Visibility, agent: str, root: str | Path | None
) -> list[Tool]:
    """The time, and where they are switched on, files and questions to the user."""
    return [
        *time_tools(),
        *(file_tools(root or scratch_folder(), visibility, agent=agent) if files else ()),
        *((ask_user,) if asks else ()),
    ]


def subagent_tools(
    subagents: Mapping[str, Mapping[str, Any]] | None, model: AnyModel, limits: Limits
) -> list[Tool]:
    """The tools that give work to agents in some roles; none where there are no roles."""
    if not subagents:
        return []
    if not isinstance(subagents, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"subagents are a dictionary by role, not {type(subagents).__name__}")
    return delegating_tools(*(_role(name, told, model, limits) for name, told in subagents.items()))


def checked_tools(tools: Iterable[Any], what: str) -> list[Any]:
    """Tools as they were given, if an agent can have them."""
    if isinstance(tools, str) or not isinstance(tools, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"{what} are a list of functions, not {type(tools).__name__}")
    given = list(tools)
    try:
        tools_of(given)
    except QuireError as fault:
        fault.add_note(f"among the {what}")
        raise
    return given


def telling(definitions: Sequence[Definition]) -> str:
    """How to use those among some tools that come with an agent."""
    known = _names()
    lines = [
        f"- {name}: {_first_words(use)}"
        for name, use, _ in map(read_definition, single_definitions(definitions))
        if name in known
    ]
    return "\n".join([_HEADING, *lines])


def _first_words(use: str) -> str:
    """The first line of a description; all of it where that line announces the others."""
    first, _, rest = use.strip().partition("\n")
    return f"{first}\n{indent(rest, '  ')}" if first.endswith(":") else first


def builtin_definitions(*, asks: bool, files: bool, delegates: bool) -> tuple[Definition, ...]:
    """What a model would be told of these tools."""
    tools = asking_and_files(asks=asks, files=files, visibility="conversation", agent="", root=".")
    tools += delegating_tools(_NOBODY) if delegates else []
    return tuple(tool.definition for tool in tools)


@cache
def scratch_folder() -> Path:
    """A folder for the files of this process, where nobody named another; it goes when the process ends."""
    folder = tempfile.TemporaryDirectory(prefix="quire-files-")
    _folders.append(folder)
    return Path(folder.name)


_folders: list["tempfile.TemporaryDirectory[str]"] = []


def _role(name: str, told: Mapping[str, Any], model: AnyModel, limits: Limits) -> Role:
    named(name, "the role of a subagent")
    if not isinstance(told, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a subagent is described by a dictionary, not {type(told).__name__}")
    unknown = told.keys() - _OPTIONS - _NO_EFFECT
    if unknown:
        names = ", ".join(cut(str(one)) for one in sorted(map(str, unknown)))
        raise InvalidValue(f"the subagent {cut(name)!r} has no option {names}")
    instructions = named(told.get("instructions", ""), f"instructions of the subagent {cut(name)!r}")
    if not instructions.strip():
        raise InvalidValue(f"the subagent {cut(name)!r} has no instructions")
    own = Limits(
        requests=told.get("max_iterations", limits.requests),
        seconds=told.get("max_execution_time", limits.seconds),
    )
    speaks = model if told.get("model") is None else model_of(told["model"])
    tools = [*time_tools(), *checked_tools(told.get("tools") or (), f"tools of the subagent {cut(name)!r}")]

    def make(session: Session) -> Agent:
        return Agent(session, model=speaks, tools=tools, name=name, instructions=instructions, limits=own)

    described = str(told.get("description") or instructions.strip().partition("\n")[0] or name)
    return Role(name=name, description=described, make=make)


def _nobody(session: Session) -> Agent:
    raise AssertionError("this role is described, and nobody works in it")


_NOBODY = Role(name="role", description="as it is configured", make=_nobody)


@cache
def _names() -> frozenset[str]:
    every = builtin_definitions(asks=True, files=True, delegates=True)
    return frozenset(read_definition(one)[0] for one in every)
