"""Errors say where, travel between processes, and name the public function that was called."""

import asyncio
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from quire import Agent, Budget, Model, Node, Session, Template, tool
from quire.agent import Limits
from quire.compactors import Cascade, ClearToolResults, Summarize, TruncateOldest
from quire.errors import (
    CodecError,
    Damaged,
    Irreducible,
    MissingExtra,
    QuireError,
    Unencodable,
    UnknownId,
    UnknownKey,
)
from quire.memory import Memory, Recall
from quire.models import Scripted, Timeouts
from quire.sections import History, Instructions


@pytest.mark.parametrize("kind", [UnknownId, UnknownKey])
def test_a_missing_key_reads_as_a_sentence(kind: type[QuireError]) -> None:
    assert str(kind("no item with this id: m1")) == "no item with this id: m1"
    assert str(kind()) == ""
    with pytest.raises(KeyError):
        raise kind("x")


def test_errors_carry_strings_that_say_where() -> None:
    assert Irreducible("too large", ("m1", "m2")).parts == ("m1", "m2")
    assert Irreducible("too large").parts == ()
    for kind in (CodecError, Unencodable, Damaged):
        assert kind("broken", "$[3].content").path == "$[3].content"
        assert str(kind("broken", "$[3].content")) == "broken (at $[3].content)"
        assert kind("broken").path == "$"


def test_a_missing_extra_says_how_to_get_it() -> None:
    fault = MissingExtra("The counter", "tokens")
    assert fault.extra == "tokens"
    assert str(fault) == "The counter is not installed; add it with: pip install 'quire[tokens]'"


@pytest.mark.parametrize(
    "fault",
    [
        UnknownId("no such item"),
        Irreducible("too large", ("m1",)),
        Damaged("broken", "$[3]"),
        Unencodable("a set", "$.content"),
        MissingExtra("The counter", "tokens"),
    ],
    ids=lambda fault: type(fault).__name__,
)
def test_errors_travel_between_processes(fault: QuireError) -> None:
    other = pickle.loads(pickle.dumps(fault))
    assert type(other) is type(fault)
    assert str(other) == str(fault)
    assert vars(other) == vars(fault)


# Errors of public functions


def opened(**options: Any) -> Session:
    return Session.open("ana/x", store="memory:", **options)


def template() -> Template:
    return Template(History(), budget=Budget(window=1_000))


def node_with(make: Any) -> Node:
    node = Node(store="memory:")
    node.add("desk", make)
    return node


def model() -> Scripted:
    return Scripted(["Hi."])


WRONG: list[tuple[Callable[[Any], Any], str]] = [
    (lambda a: a.Agent(), "Agent() missing"),
    (lambda a: a.Agent(opened()), "Agent() missing 1 required keyword-only argument: 'model'"),
    (lambda a: a.Agent(opened(), template(), model=model()), "Agent() takes"),
    (lambda a: a.Agent(opened(), model=3), "Agent(model=…) must be a model, or the name of one, not int"),
    (lambda a: a.Session(), 'a session must be made by Session.open("scope/conversation"'),
    (lambda a: a.Session("ana/x"), 'a session must be made by Session.open("scope/conversation"'),
    (lambda a: a.Session("ana/x", store="memory:"), "a session must be made by Session.open("),
    (lambda a: opened(colour=3), "Session.open has no option 'colour'; its options are address"),
    (lambda a: opened(hooks=3), "Session.open(hooks=…) must be a list, not int"),
    (lambda a: opened(redact=3), "Session.open(redact=…) must be a function, not int"),
    (lambda a: opened(caps=3), "Session.open(caps=…) must be a Caps(cost=5.0), not int"),
    (lambda a: opened(prices=3), "Session.open(prices=…) must be a mapping, not int"),
    (lambda a: opened(model=3), "Session.open(model=…) must be a model, or the name of one, not int"),
    (
        lambda a: opened(compactor=TruncateOldest),
        "a compactor must be an object, not a class: TruncateOldest(…)",
    ),
    (lambda a: a.opened().user(), "Session.user() missing"),
    (lambda a: a.opened().aio.user(), "Session.user() missing"),
    (lambda a: a.opened().pool.keep(), "Pool.keep() missing"),
    (lambda a: a.opened().user("x", to=3), "the name of a transcript or a fork must be a text, not int"),
    (lambda a: a.opened().fork(3), "the name of a transcript or a fork must be a text, not int"),
    (lambda a: a.opened().build(template(), colour=3), "Session.build has no option 'colour'"),
    (
        lambda a: a.opened().build(template(), tools=3),
        "Session.build(tools=…) must be a list of definitions, not int",
    ),
    (
        lambda a: a.Template(History(), budget="3"),
        "Template(budget=…) must be a number of tokens or a Budget",
    ),
    (
        lambda a: a.Template(History, budget=Budget(window=9)),
        "a section must have a name and items(ask); the class",
    ),
    (
        lambda a: a.Budget(8_000, 1_000),
        "Budget(...): its arguments are given by name: window, reserve, shares",
    ),
    (lambda a: a.Budget(), "Budget(...): Missing required argument 'window'"),
    (lambda a: a.Limits(3), "Limits(...): its arguments are given by name: requests"),
    (lambda a: a.Limits(colour=3), "Limits(...) has no option 'colour'; its options are requests"),
    (lambda a: a.Timeouts(3), "Timeouts(...): its arguments are given by name: connect"),
    (lambda a: a.Summarize(3), "Summarize(...): its arguments are given by name: floor"),
    (lambda a: a.ClearToolResults(3), "ClearToolResults(...): its arguments are given by name: keep"),
    (lambda a: a.Cascade(Summarize), "a compactor must be an object, not a class: Summarize(…)"),
    (
        lambda a: a.History(colour=3),
        "History(...) has no option 'colour'; its options are transcript",
    ),
    (lambda a: a.History(share=3), "History(share=…) must be a Share(maximum=2_000), not int"),
    (lambda a: a.Recall(colour=3), "Recall(...) has no option 'colour'"),
    (lambda a: a.Instructions(3), "Instructions(...) takes a text or a list of messages, not int"),
    (
        lambda a: a.Memory("quire.db", "ana"),
        "Memory(...) takes a Store, such as Store.open('quire.db'), not str",
    ),
    (lambda a: a.Model("nothing:known"), "no model 'nothing:known' is known; use"),
    (lambda a: a.Node(store="memory:").add("desk", 3), "Node.add takes a name and a function that returns"),
    (
        lambda _: node_with(str).send("desk", "Hello"),
        "the function of 'desk' on the node must return an Agent",
    ),
    (lambda a: a.Node.start(3), "Node.start takes a function"),
    (lambda a: a.tool(template, colour=3), "tool has no option 'colour'; its options are name"),
]


class Untyped:
    """The public names, without their types."""

    Agent: Any = Agent
    Budget: Any = Budget
    Cascade: Any = Cascade
    ClearToolResults: Any = ClearToolResults
    History: Any = History
    Instructions: Any = Instructions
    Limits: Any = Limits
    Memory: Any = Memory
    Model: Any = Model
    Node: Any = Node
    Recall: Any = Recall
    Session: Any = Session
    Summarize: Any = Summarize
    Template: Any = Template
    Timeouts: Any = Timeouts
    opened: Any = staticmethod(opened)
    tool: Any = staticmethod(tool)


async def awaited(value: Any) -> Any:
    return await value


@pytest.mark.parametrize(("wrong", "error"), WRONG, ids=[error[:50] for _, error in WRONG])
def test_an_error_names_the_public_function(wrong: Callable[[Any], Any], error: str) -> None:
    with pytest.raises((QuireError, TypeError)) as caught:
        made = wrong(Untyped)
        if inspect.isawaitable(made):
            asyncio.run(awaited(made))
    assert str(caught.value).startswith(error)
