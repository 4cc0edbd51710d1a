"""Names that people guess: the error says what to write, and what it says runs as it stands."""

import ast
import asyncio
import copy
import inspect
import pickle
import re
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import msgspec
import pytest

import quire
from quire import Agent, Budget, Message, Model, Note, Session, Template, ToolCall, ToolResult, tool
from quire.agent import Limits
from quire.agent.reply import Reply
from quire.compactors import ClearToolResults, Offload, Summarize, TruncateOldest
from quire.errors import InvalidLimit, InvalidValue, QuireError, WrongType
from quire.memory import Recall
from quire.models import Scripted
from quire.providers import PROVIDERS, provider_for
from quire.sections import Custom, History, Instructions
from quire.session import AioSession, Caps
from quire.tokens import Share

GUESSES: dict[str, dict[str, dict[str, str]]] = tomllib.loads(
    (Path(quire.__file__).parent / "guesses.toml").read_text("utf-8")
)


def rows(of: str) -> list[tuple[str, str, str]]:
    return [(kind, names, hint) for kind, row in GUESSES[of].items() for names, hint in row.items()]


class Answer(msgspec.Struct):
    city: str


@tool(approve=True)
def look_up(city: str) -> str:
    return city


def agent_of(session: Session | None = None, *, model: object = None, **options: Any) -> Agent:
    """An agent whose model is not asked over the network."""
    return Agent(session, model=Scripted(['{"city": "Rome"}'] * 3), **options)


def template() -> Template:
    return Template(Instructions("Be brief."), History(), budget=8_000)


def names() -> dict[str, Any]:
    """What the code of hints names, made anew for each."""
    session = Session.open("ana/chat", store="memory:")
    session.user("Which city?")
    item = session.assistant("Rome.")
    assert item is not None
    session.user("And which river?")
    session.hide(item)
    session.assistant(calls=[ToolCall("call_1", "look_up", "{}")])
    session.pool.keep(Note("blue", key="color"))
    context = session.build(template())
    rendered = context.render("openai")
    context.sent()
    agent = agent_of(Session.open("ana/agent", store="memory:"))
    agent.ask_sync("Hello")
    agent.session.receipts[-1]
    return {
        **{"session": session, "item": item, "template": template(), "context": context, "agent": agent},
        **{"rendered": rendered, "memory": session.memory, "reply": agent.ask_sync("Again?")},
        **{"client": MagicMock(), "look_up": look_up, "Answer": Answer, "Agent": agent_of},
        **{"messages": [{"role": "user", "content": "Hello"}]},
        **{kind.__name__: kind for kind in (Budget, Message, Model, Note, Session, Template, ToolCall)},
        **{kind.__name__: kind for kind in (Limits, ClearToolResults, Offload, Summarize, TruncateOldest)},
        **{kind.__name__: kind for kind in (Recall, Custom, History, Instructions, Caps, Share, ToolResult)},
        **{"tool": tool, "counter_for": quire.counter_for, "provider_for": provider_for},
    }


def instances() -> dict[str, Any]:
    made = names()
    session: Session = made["session"]
    values = session, session.aio, session.pool, session.memory
    others = made["template"], made["context"], made["rendered"], made["agent"], made["reply"]
    return {type(value).__name__: value for value in (*values, *others)}


def called(function: Any, options: dict[str, Any]) -> Any:
    return function(**options)


CALLED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "Session.open": partial(called, Session.open),
    "Session.build": lambda options: names()["session"].build(template(), **options),
    "Agent": lambda options: Agent(model=Scripted([]), **options),
    "Agent.ask": lambda options: names()["agent"].ask_sync("Hello", **options),
    "Memory.search": lambda options: names()["memory"].search("Rome", **options),
    "Context.render": lambda options: names()["context"].render("openai", **options),
    "Template": lambda options: Template(History(), budget=8_000, **options),
    "Message": lambda options: names()["session"].user("Hello", **options),
    "tool": partial(called, tool),
    **{
        kind.__name__: partial(called, kind)
        for kind in (Recall, History, Instructions, Custom, Budget, Share)
    },
    **{kind.__name__: partial(called, kind) for kind in (Limits, Caps, Summarize, TruncateOldest)},
    **{kind.__name__: partial(called, kind) for kind in (ClearToolResults, Offload)},
}


@pytest.mark.parametrize(("kind", "guesses", "hint"), rows("attributes"))
def test_an_attribute_that_is_guessed_is_answered_with_the_hint(kind: str, guesses: str, hint: str) -> None:
    value = instances()[kind]
    for name in guesses.split():
        assert not hasattr(value, name)
        with pytest.raises(
            AttributeError, match=re.escape(f"{kind!r} object has no attribute {name!r}: ")
        ) as caught:
            getattr(value, name)
        assert str(caught.value).endswith(hint)
        assert caught.value.name == name


@pytest.mark.parametrize(("kind", "guesses", "hint"), rows("options"))
def test_an_option_that_is_guessed_is_answered_with_the_hint(kind: str, guesses: str, hint: str) -> None:
    for name in guesses.split():
        with pytest.raises((InvalidValue, WrongType), match=f"has no option '{name}': ") as caught:
            CALLED[kind]({name: 3})
        assert f"{hint}; its options are " in str(caught.value)


@pytest.mark.parametrize("hint", sorted({hint for of in GUESSES for _, _, hint in rows(of)}))
def test_the_code_of_a_hint_runs(hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for code in re.findall("`(.+?)`", hint):
        if code != "aio":
            run_code(code)


def run_code(code: str) -> None:
    made = names()
    ran = eval(compile(code, "hint", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), made)
    if inspect.isawaitable(ran):
        asyncio.run(awaited(ran))


async def awaited(value: Any) -> Any:
    return await value


def test_a_name_has_one_hint() -> None:
    for kinds in GUESSES.values():
        for kind, guesses in kinds.items():
            every = [name for known in guesses for name in known.split()]
            assert len(every) == len(set(every)), kind


def test_a_name_that_is_close_is_named() -> None:
    made: Any = names()
    with pytest.raises(
        AttributeError, match=r"'Session' object has no attribute 'recepts' \(did you mean 'receipts'\?\)"
    ):
        _ = made["session"].recepts
    with pytest.raises(
        InvalidValue,
        match=r"Recall\(...\) has no option 'token' \(did you mean 'tokens'\?\); its options are",
    ):
        CALLED["Recall"]({"token": 3})
    with pytest.raises(AttributeError, match=r"^'Session' object has no attribute 'xylophone'$"):
        _ = made["session"].xylophone


@pytest.mark.parametrize("name", ["load", "create", "get"])
def test_a_session_is_opened_whatever_the_class_is_asked_for(name: str) -> None:
    with pytest.raises(
        AttributeError, match=f"type object 'Session' has no attribute '{name}': use `Session.open"
    ):
        getattr(Session, name)


def test_names_of_python_get_the_plain_error() -> None:
    for value in (*instances().values(), Session, AioSession):
        for name in ("__deepcopy__", "__nothing__", "_nothing"):
            with pytest.raises(AttributeError) as caught:
                getattr(value, name)
            assert ":" not in str(caught.value)
    reply = names()["reply"]
    assert pickle.loads(pickle.dumps(reply)) == copy.deepcopy(reply) == reply
    assert isinstance(reply, Reply)


def test_what_a_property_raises_is_not_hidden() -> None:
    class Broken(Template):
        @property
        def budgets(self) -> int:
            return self.nothing_of_this_name

        nothing_of_this_name: int

    with pytest.raises(AttributeError, match="no attribute 'nothing_of_this_name'"):
        _ = Broken(History(), budget=8_000).budgets


def test_a_constructor_keeps_its_signature_and_the_errors_of_what_it_calls() -> None:
    assert list(inspect.signature(Agent).parameters)[:3] == ["session", "model", "template"]
    assert list(inspect.signature(Instructions).parameters) == ["content", "name", "options"]

    class Failing(Template):
        def __init__(self) -> None:
            super().__init__(History(), budget=8_000, model="x")
            len(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    with pytest.raises(TypeError, match=r"^object of type 'int' has no len\(\)$"):
        Failing()


def test_a_budget_is_a_number_of_tokens() -> None:
    assert Budget(8_000) == Budget(window=8_000)
    assert Template(History(), budget=8_000).budget == Budget(window=8_000)
    with pytest.raises(WrongType):
        Template(History(), budget=True)
    with pytest.raises(InvalidLimit):
        Budget(0)


NO_ITEMS: list[tuple[Any, str]] = [
    ("Hello", 'session.user("…")'),
    ({"role": "user", "content": "Hello"}, 'session.user("…")'),
    ({"role": "assistant", "content": "Hello"}, 'session.assistant("…")'),
    ({"role": "system", "content": "Hello"}, 'session.append(Message("system", "…"))'),
    ({"role": "tool", "content": "4", "tool_call_id": "call_1"}, "session.tool(\"…\", call_id='call_1')"),
    ({"id": "call_1", "function": {}}, 'ToolCall("call_1", "look_up", "{}")'),
    (
        {"role": "assistant", "tool_calls": [{}]},
        'session.append(*provider_for("openai").read_history(messages))',
    ),
    ([{"role": "user"}], 'session.append(*provider_for("openai").read_history(messages))'),
    ([Message("user", "Hello")], "session.append(*items)"),
    (object(), "session.record(response)"),
]


@pytest.mark.parametrize(("given", "code"), NO_ITEMS)
def test_what_is_no_item_is_answered_with_the_line_that_records_it(given: Any, code: str) -> None:
    with pytest.raises(WrongType, match="a session keeps items, not") as caught:
        names()["session"].append(given)
    assert f"use `{code}`" in str(caught.value)
    assert "Hello" not in str(caught.value)
    if "items" not in code and "response" not in code:
        run_code(code)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        *(("claude", "anthropic"), ("google", "gemini"), ("vertexai", "gemini")),
        *(("openai_chat", "openai"), ("openai-chat", "openai"), ("gpt-5.6", "openai")),
        ("responses", "openai-responses"),
    ],
)
def test_a_provider_by_another_name_is_recognised(name: str, meant: str) -> None:
    with pytest.raises(InvalidValue, match=rf"no provider '{name}' \(did you mean '{meant}'\?\); there are"):
        names()["context"].render(name)
    assert meant in PROVIDERS


untyped: Any = quire
WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: untyped.Template([History()], budget=8_000), "use `Template(*sections, budget=8_000)`"),
    (lambda: untyped.Template(History, budget=8_000), "use `History()`"),
    (lambda: untyped.Template("Be brief.", budget=8_000), 'use `Instructions("…")`'),
    (lambda: untyped.History(10), "takes the name of a transcript, or messages=10, not int"),
    (
        lambda: untyped.Budget(8_000, shares={"history": 0.5}),
        "Budget.shares['history'] must be a Share(weight",
    ),
    (lambda: untyped.Message("human", "Hello"), "Message.role: not one of system, developer"),
    (lambda: untyped.Message("user", [{"type": "text"}]), "Message.content[0]: it is a text, or a list"),
    (lambda: Session.open("ana/new", store="memory:").receipts[-1], "no request was sent yet"),
    (lambda: names()["context"].explain(3), "an item must be given itself or by its id, not int"),
    (lambda: names()["context"].room("hist"), "there are 'instructions', 'history'"),
]


@pytest.mark.parametrize(("wrong", "error"), WRONG, ids=[error for _, error in WRONG])
def test_an_error_says_what_to_do(wrong: Callable[[], Any], error: str) -> None:
    with pytest.raises(QuireError) as caught:
        wrong()
    assert error in str(caught.value)
