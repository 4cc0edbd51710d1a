"""Events and hooks: all that hear are called in order; before they may refuse, after they lose nothing."""

import asyncio
import logging
from collections.abc import Callable, Generator
from contextvars import ContextVar
from typing import Any

import pytest

from quire import Budget, Template
from quire.compactors import Summarize
from quire.errors import ModelFailed, OverBudget, WrongType
from quire.items import Message, Note
from quire.models import Scripted
from quire.sections import Instructions
from quire.session import (
    Added,
    Adding,
    Building,
    Compacting,
    Dropped,
    Dropping,
    Hook,
    Recalling,
    Requested,
    Requesting,
    Session,
    hook,
)
from tests.session.opened import TEMPLATE, answer, run, session, talk, texts

heard: list[Any] = []
Act = Callable[[Session], Any]


@pytest.fixture(autouse=True)
def _silence() -> None:  # pyright: ignore[reportUnusedFunction]
    heard.clear()


hear_all = Hook(heard.append, (Adding, Added))


@hook(Added, where=lambda event: event.stream == "main")
async def hear_later(event: Any) -> None:
    await asyncio.sleep(0)
    heard.append(("later", event.stream))


@hook(Adding)
def refuse(event: Any) -> None:
    if any(isinstance(item, Message) and "secret" in item.text for item in event.items):
        raise PermissionError("no secrets here")


@hook(Added, Dropped)
def fail(event: Any) -> None:
    raise RuntimeError("broken")


def kinds() -> list[str]:
    return [type(event).__name__ for event in heard]


def _in_a_draft(one: Session) -> None:
    with one.draft() as draft:
        draft.user("a secret")
        draft.record(answer("yes"), provider="openai")


async def _in_an_awaited_draft(one: Session) -> None:
    async with one.draft() as draft:
        draft.user("a secret")


REFUSED: dict[str, Act] = {
    "user": lambda one: one.user("a secret"),
    "append": lambda one: one.append(Message("user", "fine"), Message("user", "a secret")),
    "awaited": lambda one: run(one.aio.append(Message("user", "a secret"))),
    "record": lambda one: one.record(answer("a secret"), provider="openai"),
    "draft": _in_a_draft,
    "awaited draft": lambda one: run(_in_an_awaited_draft(one)),
}


@pytest.mark.parametrize("act", REFUSED.values(), ids=REFUSED)
def test_a_hook_may_refuse_before_anything_has_happened(act: Act) -> None:
    one = session(hooks=[hear_all, refuse])
    with pytest.raises(PermissionError):
        act(one)
    assert texts(one.view()) == [] and "Added" not in kinds()


def test_what_a_refused_answer_cost_is_spent() -> None:
    one = session(hooks=[refuse])
    for act in (REFUSED["record"], REFUSED["draft"]):
        with pytest.raises(PermissionError):
            act(one)
    assert one.spending.tokens == 64 and one.spending.requests == 2


def test_a_hook_that_fails_after_loses_nothing(caplog: pytest.LogCaptureFixture) -> None:
    one = session(hooks=[fail, hear_all])
    with caplog.at_level(logging.WARNING):
        one.user("hello")
    assert texts(one.view()) == ["hello"] and kinds() == ["Adding", "Added"]
    assert one.hook_failures == [("fail", "Added", "RuntimeError")] and "fail" in caplog.text


async def _no(event: Any) -> None:
    raise PermissionError("no")


veiled = hook(Adding)(lambda event: _no(event))


@hook(Dropping)
async def hear_removals(event: Any) -> None:
    heard.append(event)


@pytest.mark.parametrize("which", [hear_later, veiled])
def test_async_hooks_are_heard_through_aio_and_refused_by_plain_verbs(which: Any) -> None:
    one = session(hooks=[which])
    with pytest.raises(WrongType):
        one.user("hello")
    with pytest.raises(WrongType):
        one.record(answer("hello"), provider="openai")
    assert one.version == 0 or texts(one.view()) == []
    if which is veiled:
        with pytest.raises(PermissionError):
            run(one.aio.user("hello"))
    else:
        run(one.aio.user("hello"))
        run(one.aio.append(Message("user", "hello"), to="side"))
        assert heard == [("later", "main")]


def test_a_draft_with_async_hooks_is_awaited() -> None:
    one = session(hooks=[hear_removals])
    run(one.aio.pool.keep(Note("1", key="a")))
    with pytest.raises(WrongType), one.draft():
        raise AssertionError("it is refused before there is anything to lose")

    async def drafted() -> None:
        async with one.draft() as draft:
            draft.pool.drop("a")
            assert heard == []

    run(drafted())
    assert kinds() == ["Dropping"] and len(one.pool) == 0


@hook(Building)
def refuse_building(event: Any) -> None:
    raise PermissionError("not now")


STATE: ContextVar[str] = ContextVar("state", default="outside")


@hook(Building, Compacting, Requesting, Recalling)
def around(event: Any) -> Generator[None, Any, None]:
    name, token = type(event).__name__, STATE.set(type(event).__name__)
    try:
        heard.append((name, type((yield)).__name__))
    except BaseException as fault:
        heard.append((name, fault))
        raise
    finally:
        STATE.reset(token)


def test_a_generator_runs_around_what_happens_and_its_context_is_seen_there() -> None:
    seen: list[str] = []

    def answer(_: Any) -> str:
        seen.append(STATE.get())
        return "They talked."

    gist = Scripted(answer)
    one = session(hooks=[around], compactor=Summarize(floor=4, ceiling=8), model=gist)
    talk(one, 6)
    one.build(TEMPLATE)
    assert heard == [("Requesting", "Requested"), ("Compacting", "Compacted"), ("Building", "Built")]
    assert seen == ["Requesting"] and STATE.get() == "outside"


def test_a_generator_hears_of_an_error_and_is_not_begun_if_another_hook_refuses() -> None:
    wide = Template(Instructions("word " * 100), budget=Budget(window=50))
    with pytest.raises(OverBudget) as caught:
        session(hooks=[around]).build(wide)
    assert heard == [("Building", caught.value)]
    with pytest.raises(PermissionError):
        session(hooks=[around, refuse_building]).build(TEMPLATE)
    assert len(heard) == 1


@hook(Building)
def refuse_around(event: Any) -> Generator[None, Any, None]:
    raise PermissionError("not now")
    yield


@hook(Building)
def fail_around(event: Any) -> Generator[None, Any, None]:
    yield
    raise RuntimeError("broken")


def test_a_generator_may_refuse_and_its_errors_afterwards_are_kept() -> None:
    one = session(hooks=[around, refuse_around])
    with pytest.raises(PermissionError) as caught:
        one.build(TEMPLATE)
    assert heard == [("Building", caught.value)]
    other = session(hooks=[fail_around, around])
    with other.draft() as draft:
        draft.build(TEMPLATE)
    assert [failure.hook for failure in other.hook_failures] == ["fail_around"]
    assert heard[1:] == [("Building", "Built")]


@pytest.mark.parametrize("fault", [None, ModelFailed("down")])
def test_a_request_for_a_summary_is_heard(fault: Exception | None) -> None:
    gist = Scripted([fault or "They talked."], name="small", wire="anthropic")
    hear = Hook(heard.append, (Requesting, Requested))
    one = session(hooks=[hear], compactor=Summarize(floor=4, ceiling=8), model=gist)
    talk(one, 6)
    one.build(TEMPLATE)
    before, after = heard
    assert before[:3] == after[:3] == (one.place, "anthropic", "small") and len(before.items) > 0
    assert (after.answer.usage is None) == (fault is not None) and after.seconds >= 0
    assert (after.retries, after.fault) == ((), fault and "ModelFailed")
