"""The record of programs: names that nobody else has, and runs that are in `main` whole and in order."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from quire import Message, Session, ToolCall, ToolResult
from quire.items import Item
from quire.programs.recording import Deeds, begin, record_run
from quire.session import Added, hook
from quire.stores import MemoryStore
from tests.programs.coding import assert_whole, run, said


def opened(**options: Any) -> Session:
    return Session.open("ana/one", store=MemoryStore(), **options)


def test_names_go_on_from_those_that_are_there() -> None:
    async def work() -> None:
        session = opened()
        names = [(await begin(session, "attempt", Message("user", str(n))))[0] for n in range(28)]
        assert names[:2] == ["attempt_a", "attempt_b"] and names[25:] == [
            "attempt_z",
            "attempt_aa",
            "attempt_ab",
        ]

    run(work)


def test_who_begins_side_by_side_has_a_name_of_its_own() -> None:
    @hook(Added)
    async def slow(_: Added) -> None:
        await asyncio.sleep(0)

    async def work() -> None:
        session = opened(hooks=[slow])
        begun = await asyncio.gather(*(begin(session, "attempt", Message("user", str(n))) for n in range(8)))
        assert len({name for name, _ in begun}) == 8
        assert all(said(session, name) == [("user", str(n))] for n, (name, _) in enumerate(begun))

    run(work)


KINDS = st.lists(st.sampled_from(["call", "failed call", "question", "unanswered"]), max_size=8)


@pytest.mark.laws
@given(KINDS, st.randoms(use_true_random=False), st.booleans())
def test_a_run_is_in_main_in_order_whatever_ran_side_by_side(
    kinds: list[str], chance: Any, ahead: bool
) -> None:
    async def work() -> None:
        session = opened()
        session.user("before", created_at=9e9 if ahead else 1.0)
        deeds, expected = Deeds(), list[Item]()
        for number, kind in enumerate(kinds):
            first, second = _pair(number, kind)
            first = replace(first, created_at=100.0 + number / 10)
            deed = deeds.begin(first)
            if second is not None:
                took = 0 if kind == "question" else chance.random()
                deed.append(replace(second, created_at=first.created_at + took))
                expected += deed
        given = Message("user", "{}", created_at=99.0)
        await record_run(session, lambda: "main", deeds, given, '"done"')
        assert [item.id for item in session.view()][2:-1] == [item.id for item in expected]
        assert ahead or list(session.view())[2:-1] == expected, "they are the same items"
        assert said(session)[1] == ("user", "{}") and said(session)[-1] == ("assistant", '"done"')
        assert_whole(session)

    run(work)


def _pair(number: int, kind: str) -> tuple[Item, Item | None]:
    if kind == "unanswered":
        return Message("user", "?"), None
    if kind == "question":
        return Message("user", "?"), Message("assistant", "!")
    call = ToolCall(f"call_{number}", "look")
    return call, ToolResult(call.call_id, "look", "x", is_error=kind == "failed call")
