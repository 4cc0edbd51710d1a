"""Results of tools: cleared in batches, or moved to the pool and read back."""

from typing import Any, cast

import pytest

from quire.compactors import (
    READ_BACK,
    Cascade,
    ClearToolResults,
    Offload,
    Room,
    Summarize,
    read_back,
    record,
)
from quire.errors import InvalidLimit, InvalidValue, QuireError, WrongType
from quire.items import Image, Item, Mask, Message, Note, Pin, ToolCall, ToolResult, Undo
from quire.state import Pool, Transcript
from quire.tokens import counter_for, schema_tokens
from tests.counting import FourCharacters

TOKENS = FourCharacters()
BULK = "line after line " * 100
TIGHT = Room(100, TOKENS)


def calls(*outputs: Any) -> Transcript:
    """A question and a call for each output; an output of none is still to come."""
    items: list[Item] = [Message("user", "Look.", id="u", created_at=1.0)]
    for number, output in enumerate(outputs, 1):
        items.append(ToolCall(f"c{number}", "look", id=f"c{number}", created_at=2.0))
        if output is not None:
            items.append(ToolResult(f"c{number}", "look", output, id=f"r{number}", created_at=2.0))
            items.append(Message("assistant", "Hm.", id=f"h{number}", created_at=2.0))
    return Transcript(items)


def texts(transcript: Transcript) -> list[str]:
    return [item.text for item in transcript.view if isinstance(item, ToolResult)]


def test_all_but_the_newest_are_cleared_in_one_batch() -> None:
    transcript = calls(BULK, BULK, BULK, BULK)
    plan = ClearToolResults(keep=2, stub="[gone]").plan(transcript.view, TIGHT)
    assert plan is not None and len(plan.edits) == 2
    record(transcript, plan)
    assert texts(transcript) == ["[gone]", "[gone]", BULK, BULK]
    assert ClearToolResults(keep=2).plan(transcript.view, TIGHT) is None, "what is masked is not masked again"


def test_at_least_so_much_or_not_at_all() -> None:
    transcript = calls(BULK, "short", BULK)
    saved = len(BULK) // 4 - 1
    compactor = ClearToolResults(keep=1, at_least=saved, stub="gone")
    plan = compactor.plan(transcript.view, TIGHT)
    assert plan is not None and plan.saved == saved and len(plan.edits) == 1
    assert ClearToolResults(keep=1, at_least=saved + 1, stub="gone").plan(transcript.view, TIGHT) is None
    assert compactor.plan(transcript.view, Room(10**6, TOKENS)) is None, "there is room for all of it"
    assert compactor.plan(calls().view, Room(0, TOKENS)) is None


def test_pins_and_what_stands_beside_a_waiting_call_stay() -> None:
    transcript = calls(BULK, BULK)
    transcript.append(Pin("r1"))
    transcript.extend(
        [
            ToolCall("x", "look", id="x1", created_at=3.0),
            ToolCall("y", "look", id="y1", created_at=3.0),
            ToolResult("x", "look", BULK, id="rx", created_at=3.0),
        ]
    )
    for compactor in (ClearToolResults(keep=0), Offload(keep=0, larger_than=100)):
        plan = compactor.plan(transcript.view, TIGHT)
        assert plan is not None
        assert [getattr(edit, "target", None) for edit in plan.edits] == ["r2"]


def test_a_bulky_output_moves_to_the_pool_and_comes_back() -> None:
    transcript, pool = calls("short", BULK, "last"), Pool()
    plan = Offload(larger_than=200).plan(transcript.view, TIGHT)
    assert plan is not None and len(plan.notes) == 1
    with pytest.raises(InvalidValue, match="pool"):
        record(transcript, plan)
    record(transcript, plan, pool=pool)
    handle = plan.notes[0].key
    assert handle is not None and pool.get(handle).content == BULK
    assert pool.get(handle).description == "output of look, 404 tokens"
    assert handle in texts(transcript)[1] and texts(transcript)[::2] == ["short", "last"]
    assert Offload(larger_than=200).plan(transcript.view, TIGHT) is None
    assert read_back(pool, handle, TOKENS, 10_000) == BULK


def test_with_a_ceiling_of_nothing_it_moves_at_once_and_media_stay() -> None:
    picture = Image(url="https://example.com/a.png")
    transcript = calls(BULK, (BULK, picture), "new")
    wide = Room(10**6, TOKENS)
    assert Offload(larger_than=200).plan(transcript.view, wide) is None
    plan = Offload(larger_than=200, ceiling=0).plan(transcript.view, wide)
    assert plan is not None and len(plan.edits) == 1
    assert Offload(larger_than=200, keep=3, ceiling=0).plan(transcript.view, wide) is None


def test_a_result_that_there_is_no_room_for_moves_though_it_was_just_given() -> None:
    transcript, pool = Transcript([Message("user", "Look.")]), Pool()
    transcript.extend([ToolCall("c1", "look"), ToolResult("c1", "look", "line after line " * 2_000)])
    room = Room(2_000, TOKENS)
    cascade = Cascade(Offload(), ClearToolResults(), Summarize(unit="tokens", size=200))
    plan = cascade.plan(transcript.view, room)
    assert plan is not None and plan.after <= 2_000
    record(transcript, plan, pool=pool)
    assert plan.notes[0].key is not None and plan.notes[0].key in texts(transcript)[0]
    assert cascade.plan(transcript.view, room) is None
    assert Offload(larger_than=200).plan(calls(BULK).view, Room(450, TOKENS)) is None, "there is room for it"


def test_a_result_moves_that_leaves_no_room_for_what_must_stay() -> None:
    items: list[Item] = [Message("system", "x" * 400), Message("user", "y" * 400), ToolCall("c", "look")]
    view = Transcript([*items, ToolResult("c", "look", BULK, id="r")]).view
    plan = Offload(larger_than=200).plan(view, Room(450, TOKENS))
    assert plan is not None and plan.after <= 450


def test_what_was_gone_through_is_not_gone_through_again() -> None:
    transcript, stub = calls(*[BULK] * 6), "[gone]"
    compactor = ClearToolResults(keep=2, stub=stub)
    for number in range(3):
        plan = compactor.plan(transcript.view, TIGHT)
        assert plan is not None and len(plan.edits) == (4 if number == 0 else 1)
        record(transcript, plan)
        assert compactor.plan(transcript.view, TIGHT) is None
        call = f"more{number}"
        transcript.extend([ToolCall(call, "look"), ToolResult(call, "look", BULK)])
    transcript.append(Undo(transcript.recorded()[19].id))
    plan = compactor.plan(transcript.view, TIGHT)
    assert plan is not None and len(plan.edits) == 2, (
        "what came back is cleared again, with the newest but two"
    )


def test_reading_goes_on_where_it_stopped() -> None:
    counter = counter_for("gpt-5.6")
    text = "".join(f"row {number}: {number * 7919 % 1000}\n" for number in range(3000))
    pool = Pool([Note(text, key="output-1")])
    read, start, pieces = "", 0, 0
    while True:
        piece = read_back(pool, "output-1", counter, 2_000, start)
        assert counter.count(ToolResult("c", "read_back", piece)) <= 2_000
        body, found, hint = piece.rpartition("\n[characters ")
        pieces += 1
        if not found:
            read += piece
            break
        read += body
        start = int(hint.rpartition("start=")[2].rstrip("]"))
    assert read == text
    assert 10 < pieces < 25
    assert schema_tokens([READ_BACK], counter) < 200


def test_what_a_model_gets_wrong_is_answered_in_words() -> None:
    pool = Pool([Note({"a": 1}, key="n")])
    assert read_back(pool, "n", TOKENS, 50) == '{"a":1}', "any note can be read"
    assert "Nothing is kept under the handle 'm'" in read_back(pool, "m", TOKENS, 50)
    assert "There are 7 characters: none from 7 on." in read_back(pool, "n", TOKENS, 50, start=7)
    for handle in (3, None, ["n"], ""):
        assert read_back(pool, cast(Any, handle), TOKENS, 50).startswith("Nothing is kept under the handle")
    for start in (-1, "5", None, 2.0, True):
        answer = read_back(pool, "n", TOKENS, 50, cast(Any, start))
        assert answer == f"start is the number of a character, 0 or more, and not {start!r}."
    bad: Any = 3
    wrong: list[tuple[tuple[Any, ...], type[QuireError]]] = [
        ((bad, "n", TOKENS, 50), WrongType),
        ((pool, "n", TOKENS, 0), InvalidLimit),
        ((Pool([Note(BULK, key="n")]), "n", TOKENS, 6), InvalidLimit),
    ]
    for arguments, error in wrong:
        with pytest.raises(error):
            read_back(*arguments)


@pytest.mark.parametrize(
    ("kind", "settings", "error"),
    [
        (ClearToolResults, {"keep": -1}, InvalidLimit),
        (ClearToolResults, {"keep": 1.0}, WrongType),
        (ClearToolResults, {"at_least": -5}, InvalidLimit),
        (ClearToolResults, {"stub": "  "}, InvalidValue),
        (ClearToolResults, {"stub": 3}, WrongType),
        (ClearToolResults, {"ceiling": 2.0}, InvalidLimit),
        (Offload, {"larger_than": -1}, InvalidLimit),
        (Offload, {"larger_than": "1"}, WrongType),
        (Offload, {"keep": None}, WrongType),
        (Offload, {"ceiling": -1}, InvalidLimit),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    kind: Any, settings: dict[str, Any], error: type[QuireError]
) -> None:
    with pytest.raises(error):
        kind(**settings)


def parallel(first: str, second: str) -> Transcript:
    return Transcript(
        [
            Message("user", "look at both"),
            *(ToolCall("a", "look"), ToolCall("b", "look")),
            *(ToolResult("a", "look", first, id="ra"), ToolResult("b", "look", second, id="rb")),
        ]
    )


def test_a_result_that_has_room_once_another_has_gone_stays() -> None:
    counter = counter_for("gpt-5.6")
    transcript = parallel("word " * 10_000, "word " * 500)
    plan = Offload(larger_than=100, keep=1).plan(transcript.view, Room(2_000, counter))
    assert plan is not None and [edit.target for edit in plan.edits if isinstance(edit, Mask)] == ["ra"]
    assert plan.after > 500
    record(transcript, plan, pool=Pool())
    assert Offload(larger_than=100, keep=1, ceiling=0).plan(transcript.view, Room(2_000, counter)) is None
