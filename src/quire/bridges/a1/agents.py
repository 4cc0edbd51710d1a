"""A1's agent: what it is given and gives, and what programs may call on the way."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from hashlib import blake2b
from typing import Any, cast

from quire.agent import Tool as Function
from quire.agent.tools import Json
from quire.bridges.a1.schemas import checked_schema, made_schema, schemas_within
from quire.bridges.a1.tools import Tool, flattened, model_of
from quire.errors import InvalidValue, WrongType, cut
from quire.models import AnyModel
from quire.programs.task import Task


class Agent:
    """What is to be done, by schemas and tools. A runtime has programs written that do it."""

    def __init__(
        self,
        name: str = "agent",
        description: str = "",
        input_schema: Any = None,
        output_schema: Any = None,
        tools: Iterable[Any] = (),
        skills: Iterable[Any] = (),
    ) -> None:
        given = made_schema("Input", {"input": (str, ...)}) if input_schema is None else input_schema
        gives = made_schema("Output", {"output": (str, ...)}) if output_schema is None else output_schema
        self.name = name
        self.description = description
        self.input_schema = checked_schema(given, "an input_schema")
        self.output_schema = checked_schema(gives, "an output_schema")
        self.tools = flattened(_row(tools, "tools"))
        self.skills = _row(skills, "skills")
        self.task: Task = AgentTask(self)
        """The same for the engine, which programs are written for."""

    def __repr__(self) -> str:
        return f"<Agent {self.name!r} of {len(self.tools)} tools>"

    def get_tool(self, name: str) -> Function | None:
        """The tool of a name, if there is one."""
        return next((one for one in self.tools if one.name == name), None)

    def given(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Input by the names of the schema: where there is one field, one value is its, by whatever name."""
        fields = self.task.input.get("properties", {})
        if len(values) == len(fields) == 1:
            return dict(zip(fields, values.values(), strict=True))
        return dict(values)


class AgentTask(Task):
    """The task of an agent. Its programs also know its schemas by name, for `output_schema=`."""

    def __init__(self, agent: Agent) -> None:
        super().__init__(
            agent.name,
            "\n\n".join([agent.description, *map(_skill, agent.skills)]).strip(),
            input=agent.input_schema,
            output=agent.output_schema,
            tools=[one for one in agent.tools if model_of(one) is None],
            models=_models(agent.tools),
        )
        self._schemas = self._named_schemas(agent)

    @property
    def names(self) -> frozenset[str]:
        """What a program finds: schemas too."""
        return super().names | frozenset(self._schemas)

    def _inputs(self) -> Mapping[str, Any]:
        """The inputs, and the schemas as variables."""
        given = super()._inputs()
        whole = {**given["properties"], **{name: {"type": "object"} for name in self._schemas}}
        return {**given, "properties": whole, "required": list(whole)}

    @cached_property
    def version(self) -> str:
        """A digest that changes with the names of the schemas, too."""
        told = " ".join([super().version, *sorted(self._schemas)])
        return blake2b(told.encode(), digest_size=16).hexdigest()

    def variables(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """What was read, and the schemas, where a model may be held to them."""
        return {**super().variables(values), **self._schemas}

    def _named_schemas(self, agent: Agent) -> dict[str, Json]:
        """Schemas under their names, where these are free: in every program `Output` is the answer's type."""
        if not self.models:
            return {}
        own = [one for one in agent.tools if isinstance(one, Tool)]
        given = [one.output_schema for one in own if one.output_schema is not None]
        found = schemas_within(agent.output_schema, agent.input_schema, *given)
        taken = {*super().names, "output", "Output"}
        return {name: schema for name, schema in found.items() if name.isidentifier() and name not in taken}


def checked_agent(agent: object) -> Agent:
    """The agent, if it is one."""
    if not isinstance(agent, Agent):
        raise WrongType(f"a runtime runs an Agent, not {type(agent).__name__}")
    return agent


def _models(tools: Iterable[Function]) -> list[AnyModel]:
    return [model for one in tools if (model := model_of(one)) is not None]


def _row(given: Any, what: str) -> tuple[Any, ...]:
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise WrongType(f"the {what} of an agent are a list, not {type(cast('object', given)).__name__}")
    return tuple(given)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _skill(skill: Any) -> str:
    """A skill in words: a text, or what has a name and a content, or a set of such."""
    if isinstance(skill, str):
        return skill
    inner = getattr(skill, "skills", None)
    if inner is not None:
        return "\n\n".join(map(_skill, inner))
    content = getattr(skill, "content", None)
    if not isinstance(content, str):
        raise InvalidValue(f"a skill is a text, or has a content: {cut(type(skill).__name__)} is neither")
    return f"# {getattr(skill, 'name', 'Skill')}\n\n{content}"
