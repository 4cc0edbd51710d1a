"""Errors say where, travel between processes, and name the public function that was called."""

import asyncio
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import quire
import quire.memory
from quire import Budget, History, Node, Session, Template
from quire.compactors import Summarize
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
from quire.models import Scripted


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


# Errors of public functions. `public` and `opened` have no types, which would refuse all of this before.

public: Any = quire
memory: Any = quire.memory


def opened(**options: Any) -> Any:
    return Session.open("ana/x", store="memory:", **options)


def template() -> Template:
    return Template(History(), budget=Budget(window=1_000))


def asked_node(make: Any) -> Any:
    node = Node(store="memory:")
    node.add("desk", make)
    return node.send("desk", "Hello")


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: public.Agent(opened()), "Agent() missing 1 required keyword-only argument: 'model'"),
    (lambda: public.Agent(opened(), template(), model=Scripted(["Hi."])), "Agent() takes"),
    (lambda: public.Agent(opened(), model=3), "Agent(model=…) must be a model, or the name of one, not int"),
    (lambda: public.Session("ana/x"), 'a session must be made by Session.open("scope/conversation"'),
    (lambda: opened(hooks=3), "Session.open(hooks=…) must be a list, not int"),
    (lambda: opened(model=3), "Session.open(model=…) must be a model, or the name of one, not int"),
    (lambda: opened(compactor=Summarize), "a compactor must be an object, not a class: Summarize(…)"),
    (lambda: opened().user(), "Session.user() missing"),
    (lambda: opened().aio.user(), "Session.user() missing"),
    (lambda: opened().fork(3), "the name of a transcript or a fork must be a text, not int"),
    (lambda: opened().build(template(), tools=3), "Session.build(tools=…) must be a list of definitions"),
    (lambda: public.Template(History(), budget="3"), "Template(budget=…) must be a number of tokens or a"),
    (lambda: public.Budget(8_000, 1_000), "Budget(...): its arguments are given by name: window, reserve"),
    (lambda: public.Budget(), "Budget(...): Missing required argument 'window'"),
    (lambda: public.Instructions(3), "Instructions(...) takes a text or a list of messages, not int"),
    (lambda: public.History(share=3), "History(share=…) must be a Share(maximum=2_000), not int"),
    (lambda: public.Model("nothing:known"), "no model 'nothing:known' is known; use"),
    (lambda: asked_node(3), "Node.add takes a name and a function that returns"),
    (lambda: asked_node(str), "the function of 'desk' on the node must return an Agent"),
    (lambda: public.Node.start(3), "Node.start takes a function"),
    (lambda: opened().calls.begin("c1"), "calls.begin: a call must be a ToolCall"),
    (lambda: memory.Memory.of("chats.db", "ana"), "Memory.of(store, scope): the store must be a Store"),
    (
        lambda: public.Model("openai:box@127.0.0.1:1"),
        "the address in 'openai:box@127.0.0.1:1' must begin with",
    ),
]


async def awaited(value: Any) -> Any:
    return await value


@pytest.mark.parametrize(("wrong", "error"), WRONG, ids=[error[:50] for _, error in WRONG])
def test_an_error_names_the_public_function(wrong: Callable[[], Any], error: str) -> None:
    with pytest.raises((QuireError, TypeError)) as caught:
        made = wrong()
        if inspect.isawaitable(made):
            asyncio.run(awaited(made))
    assert str(caught.value).startswith(error)
