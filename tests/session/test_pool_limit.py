"""A limit on the pool, and long outputs in it: no stub that is shown names what is not there."""

import asyncio
import re

from quire import Budget, Template
from quire.compactors import Offload
from quire.items import Hide, Note, Span, ToolResult
from quire.sections import History, Instructions
from quire.session import Session
from tests.session.opened import session

TEMPLATE = Template(Instructions("Be brief."), History(), budget=Budget(window=20_000))


async def offloaded(limit: int) -> Session:
    """A session that has moved seven long outputs to its pool."""
    one = session(pool_limit=limit, compactor=Offload())
    for n in range(8):
        one.user(f"question {n}")
        call = one.call("read_file", {"path": f"{n}"})
        one.tool(f"line {n} " * 3_000, call_id=call.call_id)
        one.assistant("done")
    await one.compact(TEMPLATE)
    return one


def handles_shown(one: Session) -> set[str]:
    stubs = (item.text for item in one.view() if isinstance(item, ToolResult))
    return {handle for stub in stubs for handle in re.findall("output-[0-9a-f]{10}", stub)}


def own_keys(one: Session) -> list[str]:
    return [key for note in one.pool if not (key := str(note.key)).startswith("output-")]


def test_outputs_that_a_stub_names_do_not_give_way() -> None:
    one = asyncio.run(offloaded(3))
    assert len(handles_shown(one)) == 7
    for n in range(5):
        one.keep(Note(str(n), key=f"own {n}"))
    assert handles_shown(one) <= {note.key for note in one.pool}
    assert own_keys(one) == ["own 2", "own 3", "own 4"], "the limit is for the rest"


def test_outputs_that_nothing_shown_names_give_way() -> None:
    one = asyncio.run(offloaded(3))
    stubs = [item for item in one.view() if isinstance(item, ToolResult) and "kept as" in item.text]
    one.append(Hide((Span(one.view()[0].id, one.view()[11].id),)))
    left = handles_shown(one)
    assert 0 < len(left) < len(stubs)
    one.keep(Note("1", key="own 1"))
    outputs = {str(note.key) for note in one.pool} - {"own 1"}
    assert left < outputs and len(outputs) == len(left) + 2
    for n in range(2, 5):
        one.keep(Note(str(n), key=f"own {n}"))
    assert {note.key for note in one.pool} == {*left, "own 2", "own 3", "own 4"}


def test_an_output_that_is_on_its_way_is_not_put_out_before_its_stub_is_there() -> None:
    one = session(pool_limit=1)
    outputs = [Note(f"long {n}", key=f"output-{n:010x}") for n in range(3)]
    one.keep(Note("mine", key="own"))
    call = one.call("read_file")
    for each in outputs:
        one.keep(each)
    one.keep(Note("mine", key="other"))
    assert [note.key for note in one.pool] == [*(each.key for each in outputs), "other"]
    one.tool(f"[kept as {outputs[0].key}, then {outputs[0].key}-2]", call_id=call.call_id)
    one.keep(Note("mine", key="last"))
    assert [note.key for note in one.pool] == [outputs[0].key, "last"], "nothing will name the others"


def test_an_output_that_nobody_is_about_to_name_gives_way_as_others_do() -> None:
    one = session(pool_limit=2)
    for n in range(5):
        one.keep(Note("long", key=f"output-{n:010x}"))
        one.keep(Note("mine", key=f"own {n}"))
    one.call("read_file")  # of a later one
    one.keep(Note("mine", key="last"))
    assert [note.key for note in one.pool] == ["own 4", "last"]


def test_in_a_draft_an_output_is_still_on_its_way() -> None:
    one = session(pool_limit=1)
    call = one.call("read_file")
    one.keep(Note("long", key=f"output-{7:010x}"))
    with one.draft() as draft:
        draft.keep(Note("mine", key="own"))
        draft.tool(f"[kept as output-{7:010x}]", call_id=call.call_id)
        draft.keep(Note("mine", key="other"))
        one.user("meanwhile")
    assert [note.key for note in one.pool] == [f"output-{7:010x}", "other"]
