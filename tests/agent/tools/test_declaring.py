"""What a tool says of itself, whatever kind of function it is made of."""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import dataclass
from functools import partial, wraps
from typing import Annotated, Any, cast

import msgspec
import pytest

from quire.agent.tools import Tool, tool, tools_of
from quire.errors import InvalidLimit, InvalidValue, WrongType
from quire.session import Session
from quire.state import Pool
from tests.agent.tools.running import ran


@tool
def search(query: str, limit: int = 10) -> str:
    """Search the archive.

    Newest first.

    Args:
        query: What to look for.
        limit: How many,
            at most.

    Returns:
        What was found.
    """
    return f"{query}/{limit}"


@tool
def later(item: Later) -> int:
    return item.size


@dataclass
class Later:
    size: int


class Desk:
    def __init__(self, name: str) -> None:
        self.name = name

    @tool(description="Greet somebody.")
    def greet(self, who: str) -> str:
        return f"{self.name} greets {who}"

    @tool
    async def wait(self: Desk, pool: Pool, times: int = 1) -> str:
        return f"{self.name} {times} {len(pool)}"

    @tool
    @classmethod
    def kind(cls, loud: bool = False) -> str:
        return cls.__name__ + "!" * loud

    @tool
    @staticmethod
    def add(one: int, other: int) -> int:
        return one + other

    def plain(self, who: str) -> str:
        """Not a tool yet."""
        return f"{self.name}: {who}"


class Callable_:
    """Doubles."""

    async def __call__(self, number: int) -> int:
        return 2 * number


def properties(one: Tool) -> dict[str, Any]:
    found: dict[str, Any] = one.definition["parameters"]["properties"]
    return found


def test_a_tool_is_told_by_its_signature_and_its_docstring() -> None:
    assert search.definition == {
        "name": "search",
        "description": "Search the archive.\n\nNewest first.",
        "parameters": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What to look for."},
                "limit": {"type": "integer", "description": "How many, at most.", "default": 10},
            },
            "required": ["query"],
            "additionalProperties": False,
        },
    }


def test_a_tool_is_the_function_itself() -> None:
    assert search("x", limit=2) == "x/2"
    assert search.__name__ == "search" and (search.__doc__ or "").startswith("Search")
    assert list(inspect.signature(search).parameters) == ["query", "limit"]
    assert search.__signature__ == inspect.signature(search.function)
    assert inspect.unwrap(search) is search.function


def test_names_that_are_defined_later_are_found_when_they_are_needed() -> None:
    assert properties(later)["item"]["properties"] == {"size": {"type": "integer"}}
    assert ran(later, '{"item": {"size": 3}}').content == "3"


def test_names_that_are_never_defined_are_told() -> None:
    @tool  # pyright: ignore[reportUnknownArgumentType]
    def lost(item: Nowhere) -> None:  # type: ignore[name-defined]  # noqa: F821  # pyright: ignore
        """Take what there is none of."""

    with pytest.raises(WrongType, match=r"'lost'.*'Nowhere'"):
        lost.definition  # noqa: B018  # pyright: ignore[reportUnusedExpression]


def test_local_types_are_found() -> None:
    @dataclass
    class Local:
        size: int
        inner: int = 0

    @tool
    def take(item: Local) -> int:
        return item.size

    assert ran(take, {"item": {"size": 3, "inner": 4}}).content == "3"


def test_methods_are_tools_of_their_objects() -> None:
    one, other = Desk("A"), Desk("B")
    assert list(properties(one.greet)) == ["who"] and one.greet.description == "Greet somebody."
    assert one.greet("x") == "A greets x" and other.greet("x") == "B greets x"
    assert ran(other.greet, {"who": "x"}).content == "B greets x"
    assert list(properties(one.wait)) == ["times"]
    assert ran(one.wait, {"times": 2}, pool=Pool()).content == "A 2 0"
    assert ran(Desk.kind, {"loud": True}).content == "Desk!"
    assert ran(Desk.add, {"one": 1, "other": 2}).content == "3" and one.add(1, 2) == 3
    assert ran(one.plain, {"who": "x"}).content == "A: x"


def test_partials_and_objects_are_tools() -> None:
    def send(to: str, text: str, key: str) -> str:
        """Send a message."""
        return f"{to}{text}{key}"

    sender = tool(partial(send, "ann", key="secret"))
    assert sender.name == "send" and sender.description == "Send a message."
    assert list(properties(sender)) == ["text"] and "secret" not in str(sender.definition)
    assert ran(sender, {"text": "!"}).content == "ann!secret"
    assert ran(sender, {"text": "!", "key": "x"}).is_error
    double = tool(Callable_(), name="double")
    assert double.description == "Doubles." and double.kind == "async"
    assert ran(double, {"number": 4}).content == "8"


def test_wrapped_functions_keep_their_signature() -> None:
    def loud(function: Any) -> Any:
        @wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs).upper()

        return wrapper

    @tool
    @loud
    def echo(text: str) -> str:
        return text

    assert list(properties(echo)) == ["text"] and ran(echo, {"text": "a"}).content == "A"


def test_positional_rest_and_more_arguments() -> None:
    @tool
    def mixed(one: int, two: int = 2, /, *rest: int, three: int = 3, **more: str) -> str:
        return f"{one} {two} {rest} {three} {more}"

    schema = mixed.definition["parameters"]
    assert schema["required"] == ["one"] and schema["additionalProperties"] == {"type": "string"}
    assert properties(mixed)["rest"] == {"type": "array", "items": {"type": "integer"}, "default": []}
    assert ran(mixed, {"one": 1}).content == "1 2 () 3 {}"
    given = {"one": 1, "rest": [8, "9"], "three": 4, "x": "y"}
    assert ran(mixed, given).content == "1 2 (8, 9) 4 {'x': 'y'}"
    assert "x: expected a text" in str(ran(mixed, {"one": 1, "x": 3}).content)


def test_what_can_have_no_schema_is_refused_when_it_is_declared() -> None:
    def takes_a_function(then: type[int]) -> None: ...
    def takes_anything(*args, **kwargs): ...  # type: ignore[no-untyped-def]  # pyright: ignore
    def takes_an_object(one: Desk) -> None: ...
    def takes_deep(one: list[dict[str, Desk]]) -> None: ...

    refused: tuple[tuple[Any, str], ...] = (
        (takes_a_function, "then"),
        (cast(Any, takes_anything), "args"),
        (takes_an_object, "one"),
        (takes_deep, "one"),
    )
    for function, name in refused:
        with pytest.raises(WrongType, match=rf"'{function.__name__}'.*'{name}'"):
            tool(function)
    with pytest.raises(InvalidValue, match="without a name"):
        tool(lambda: None)
    with pytest.raises(WrongType, match="a tool is a function"):
        tool(3)  # type: ignore[call-overload]  # pyright: ignore
    with pytest.raises(InvalidValue, match="a tool already"):
        tool(search)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"timeout": 0}, InvalidLimit),
        ({"timeout": "5"}, WrongType),
        ({"max_output": 0}, InvalidLimit),
        ({"max_output": 10**9}, InvalidLimit),
        ({"lock": 1}, WrongType),
        ({"approve": "yes"}, WrongType),
        ({"name": ""}, InvalidValue),
        ({"description": 3}, WrongType),
        ({"fixed": {"nobody": 1}}, InvalidValue),
        ({"fixed": [1]}, WrongType),
    ],
)
def test_wrong_options_are_refused(wrong: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        tool(search.function, **wrong)


def test_descriptions_come_from_annotations_too() -> None:
    @tool
    def take(
        one: Annotated[int, "The first."], two: Annotated[int, msgspec.Meta(description="No.", gt=1)]
    ) -> None:
        """Take.

        :param two: The second.
        """

    assert properties(take)["one"] == {"type": "integer", "description": "The first."}
    assert properties(take)["two"] == {"type": "integer", "exclusiveMinimum": 1, "description": "The second."}


def test_versions_change_with_what_is_told() -> None:
    def one(a: int) -> None: ...
    def two(a: str) -> None: ...

    two.__name__ = "one"
    assert tool(one).version == tool(one).version != tool(two).version
    assert tool(one, description="other").version != tool(one).version
    assert tool(one, timeout=3).version == tool(one).version


def test_approval_is_asked_for_by_a_predicate() -> None:
    def pay(amount: float) -> None: ...

    assert tool(pay, approve=True).needs_approval({"amount": 1}) and not tool(pay).needs_approval("{}")
    large = tool(pay, approve=lambda arguments: arguments["amount"] > 10)
    assert large.needs_approval('{"amount": "11"}') and not large.needs_approval({"amount": 1})
    assert not large.needs_approval("not json")  # it is not run either
    assert tool(pay, approve=lambda arguments: arguments["nothing"]).needs_approval({"amount": 1})


def test_tools_of_an_agent_have_names_of_their_own() -> None:
    def plain(one: int) -> int:
        return one

    native = {"type": "web_search"}
    given = tools_of([search, plain, native])
    assert set(given.tools) == {"search", "plain"} and len(given.definitions) == 3
    assert given.definitions[2] is native
    for twice in ([search, search], [search, search.definition], [native, native], [plain, tool(plain)]):
        with pytest.raises(InvalidValue, match="two tools are called"):
            tools_of(twice)  # type: ignore[arg-type]
    for wrong in ("search", search.definition, 3, [3]):
        with pytest.raises(WrongType):
            tools_of(wrong)  # type: ignore[arg-type]  # pyright: ignore


def test_the_session_and_the_pool_are_filled_in_and_hidden(tmp_path: Any) -> None:
    @tool
    def look(key: str, session: Session, pool: Pool, other: Session | None = None) -> str:
        pool.clear()
        return f"{key} {session.place} {other is session}"

    assert list(properties(look)) == ["key"]
    session = Session.open("ana/q3", store=f"sqlite:///{tmp_path}/x.db")
    from quire.items import Note

    session.pool.keep(Note("v", key="k"))
    assert "True" in str(ran(look, {"key": "k"}, session=session).content)
    assert len(session.pool) == 1  # the tool had a copy
    assert ran(look, {"key": "k", "session": "x"}, session=session).is_error
    with pytest.raises(InvalidValue, match="needs a session"):
        ran(look, {"key": "k"})


def test_fixed_arguments_are_hidden_and_cannot_be_given() -> None:
    fixed = tool(search.function, fixed={"limit": 3})
    assert list(properties(fixed)) == ["query"] and ran(fixed, {"query": "x"}).content == "x/3"
    outcome = ran(fixed, {"query": "x", "limit": 9})
    assert outcome.is_error and "no argument 'limit'" in str(outcome.content)


def test_a_tool_runs_in_any_loop() -> None:
    async def main() -> str:
        return search("a")  # type: ignore[no-any-return]

    assert asyncio.run(main()) == "a/10"
