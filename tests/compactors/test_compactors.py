"""What the documentation promises of each compactor, of recording a plan, and of reading outputs back."""

from typing import Any

import pytest

from quire.compactors import (
    Cascade,
    ClearToolResults,
    Offload,
    Room,
    Summarize,
    TruncateOldest,
    leaving_out,
    read_back,
    record,
)
from quire.errors import InvalidLimit, InvalidValue
from quire.items import Image, Item, Mask, Message, Note, Pin, Summary, ToolCall, ToolResult
from quire.state import Pool, Transcript
from quire.testing.plain import FourCharacters
from quire.tokens import counter_for
from tests.counting import Items

TOKENS = FourCharacters()
WIDE, TIGHT = Room(10**6, TOKENS), Room(100, TOKENS)
BULK = "line after line " * 100


def turns(count: int, size: int = 36) -> list[Item]:
    """Turns of a question and an answer, each message of `size` characters."""
    return [
        Message(role, "x" * size, id=f"{role[0]}{turn}", created_at=float(turn))
        for turn in range(1, count + 1)
        for role in ("user", "assistant")
    ]


def calls(*outputs: Any) -> Transcript:
    """A question, and a call with an answer for each output."""
    items: list[Item] = [Message("user", "Look.", id="u", created_at=1.0)]
    for number, output in enumerate(outputs, 1):
        items.append(ToolCall(f"c{number}", "look", id=f"c{number}", created_at=2.0))
        items.append(ToolResult(f"c{number}", "look", output, id=f"r{number}", created_at=2.0))
        items.append(Message("assistant", "Hm.", id=f"h{number}", created_at=2.0))
    return Transcript(items)


def ids(transcript: Transcript) -> str:
    return " ".join(item.id for item in transcript.view)


def outputs(transcript: Transcript) -> list[str]:
    return [item.text for item in transcript.view if isinstance(item, ToolResult)]


def applied(compactor: Any, transcript: Transcript, room: Room, text: str | None = None) -> Any:
    """Plan, record, and return the plan."""
    plan = compactor.plan(transcript.view, room)
    assert plan is not None and record(transcript, plan, text=text, pool=Pool()).fate == "kept"
    return plan


def test_the_oldest_go_down_to_the_floor() -> None:
    system, last = Message("system", "Be brief.", id="s"), Message("user", "x" * 400, id="last")
    tail = [Message("assistant", "x" * 36, id=f"t{n}") for n in range(4)]
    rows: list[tuple[str, TruncateOldest, list[Item], Room]] = [
        ("u4 a4", TruncateOldest(), turns(4), Room(106, TOKENS)),
        ("u3 a3 u4 a4", TruncateOldest(floor=1.0), turns(4), Room(5, Items())),
        ("u2 a2 u3 a3 u4 a4", TruncateOldest(unit="turns", floor=3, ceiling=3), turns(4), WIDE),
        ("s u3 a3 u4 a4", TruncateOldest(unit="messages", floor=4, ceiling=7), [system, *turns(4)], WIDE),
        # The last turn, or a pin, is above the floor: half of the rest stays.
        ("last t2 t3", TruncateOldest(), [*turns(1, 400), last, *tail], Room(170, TOKENS)),
        ("u1 u3 a3", TruncateOldest(floor=75), [*turns(2, 400), Pin("u1"), *turns(3)[4:]], Room(150, TOKENS)),
    ]
    for left, compactor, items, room in rows:
        transcript = Transcript(items)
        applied(compactor, transcript, room)
        assert ids(transcript) == left and compactor.plan(transcript.view, room) is None


def test_a_pinned_summary_is_not_summarized_again() -> None:
    merged = Summary("What the child did.", id="merged")
    transcript = Transcript([*turns(1), merged, Pin("merged"), *turns(8)[2:]])
    request = applied(Summarize(floor=3, ceiling=6, size=5), transcript, WIDE, text="short").request
    assert request.items[:2] == ("u1", "a1") and "merged" not in request.items
    assert "merged" in ids(transcript).split()


def test_all_results_but_the_newest_are_cleared_in_one_batch() -> None:
    transcript = calls(BULK, BULK, BULK, BULK)
    assert len(applied(ClearToolResults(keep=2, stub="[gone]"), transcript, TIGHT).edits) == 2
    assert outputs(transcript) == ["[gone]", "[gone]", BULK, BULK]
    assert ClearToolResults(keep=2).plan(transcript.view, TIGHT) is None
    saved = len(BULK) // 4 - 1
    view = calls(BULK, "short", BULK).view
    enough, too_little = (ClearToolResults(keep=1, at_least=saved + n, stub="gone") for n in (0, 1))
    assert enough.plan(view, TIGHT) and not too_little.plan(view, TIGHT) and not enough.plan(view, WIDE)


def test_a_bulky_output_moves_to_the_pool_and_comes_back() -> None:
    transcript, pool = calls("short", BULK, (BULK, Image(url="https://example.com/a.png")), "last"), Pool()
    plan = Offload(larger_than=200).plan(transcript.view, TIGHT)
    assert plan is not None and len(plan.notes) == 1, "a result with media stays"
    with pytest.raises(InvalidValue, match="pool"):
        record(transcript, plan)
    record(transcript, plan, pool=pool)
    handle = plan.notes[0].key or ""
    assert pool.get(handle).description == "output of look, 404 tokens" and handle in outputs(transcript)[1]
    assert read_back(pool, handle, TOKENS, 10_000) == BULK
    assert Offload(larger_than=200).plan(calls(BULK, "new").view, WIDE) is None
    assert Offload(larger_than=200, ceiling=0).plan(calls(BULK, "new").view, WIDE) is not None


def test_a_newest_result_moves_only_if_there_is_no_room_for_it() -> None:
    counter, offload = counter_for("gpt-5.6"), Offload(larger_than=100, keep=1)
    both: list[Item] = [
        ToolCall("a", "look"),
        ToolCall("b", "look"),
        ToolResult("a", "look", "word " * 10_000, id="ra"),
    ]
    transcript = Transcript([Message("user", "go"), *both, ToolResult("b", "look", "word " * 500, id="rb")])
    plan = applied(offload, transcript, Room(2_000, counter))
    assert [edit.target for edit in plan.edits] == ["ra"] and plan.after > 500
    frame: list[Item] = [Message("system", "x" * 400), Message("user", "y" * 400), ToolCall("c", "look")]
    view = Transcript([*frame, ToolResult("c", "look", BULK)]).view
    beside = Offload(larger_than=200).plan(view, Room(450, TOKENS))
    assert beside is not None and beside.after <= 450
    assert Offload(larger_than=200).plan(calls(BULK).view, Room(450, TOKENS)) is None


def test_mistakes_in_reading_back_are_answered_in_words() -> None:
    pool = Pool([Note("row\n" * 3000, key="output-1")])
    assert "Nothing is kept under the handle 'm'" in read_back(pool, "m", TOKENS, 50)
    assert "none from" in read_back(pool, "output-1", TOKENS, 50, start=10**6)
    assert "none from -1" in read_back(pool, "output-1", TOKENS, 50, start=-1)
    with pytest.raises(InvalidLimit):
        read_back(pool, "output-1", TOKENS, 6)


def test_a_summary_stands_for_the_oldest_and_folds_an_earlier_one() -> None:
    transcript = Transcript([Message("system", "Be brief.", id="s", created_at=0.0)])
    for turn in range(1, 40):
        transcript.extend(turns(turn)[-2:])
        plan = Summarize(floor=4, ceiling=8).plan(transcript.view, WIDE)
        if plan is not None and plan.request is not None:
            told = plan.request.prompt[-1]
            assert isinstance(told, Message)
            asked = told.text.partition("</conversation>")[0].count("<user>")
            text = f"{asked} questions, {told.text.count('<earlier-summary>')} summaries"
            record(transcript, plan, text=text)
    summaries = [item for item in transcript.view if isinstance(item, Summary)]
    assert [item.text for item in summaries] == ["3 questions, 1 summaries"] and len(summaries[0].spans) == 1
    assert transcript.view[0].id == "s" and transcript.view[1] == summaries[0]


def test_the_prompt_has_headings_and_guidance_or_is_ones_own() -> None:
    view = Transcript([*turns(12), Message("user", "{conversation} {size}", created_at=20.0)]).view
    plan = Summarize(guidance="Keep all code.", size=100).plan(view, WIDE)
    assert plan is not None and plan.request is not None
    system, user = (item.text for item in plan.request.prompt if isinstance(item, Message))
    assert all(f"\n{heading}: " in system for heading in ("Goal", "Decisions", "Open tasks", "Rules to keep"))
    assert "Keep all code." in system and "75 tokens" in system and user.startswith("<conversation>\n<user>x")
    own = Summarize(prompt='As {"json": {size}}: {conversation}', floor=1, ceiling=2).plan(view, WIDE)
    assert own is not None and own.request is not None and isinstance(own.request.prompt[0], Message)
    assert own.request.prompt[0].text.startswith('As {"json": {size}}: <user>xxx')


def test_a_summary_without_a_room_may_be_longer_than_what_it_stands_for() -> None:
    transcript = Transcript(turns(4))
    plan = Summarize(floor=2, ceiling=4).plan(transcript.view, WIDE)
    assert plan is not None and plan.request is not None
    on_demand = plan._replace(request=plan.request._replace(room=None))
    assert record(transcript.fork(), plan, text="w" * 2_000).fate == "discarded"
    assert record(transcript, on_demand, text="w" * 2_000).fate == "kept"
    edit = leaving_out(transcript.view, ["u4"])
    assert edit is not None and [span.first for span in edit.spans] == ["a4"]


def test_a_cascade_goes_as_far_as_it_must_and_requests_a_summary_last() -> None:
    cascade = Cascade(ClearToolResults(keep=0, at_least=1, stub="-"), TruncateOldest())
    enough = cascade.plan(calls(BULK, BULK).view, Room(500, TOKENS))
    assert enough is not None and len(enough.edits) == 2 and enough.after < 100
    more = cascade.plan(Transcript([*turns(20, 400)[:-1], *calls(BULK).recorded()]).view, Room(500, TOKENS))
    assert more is not None and more.after <= 250 and "truncate-oldest: " in more.reason
    transcript = Transcript([*turns(20, 400), *calls(BULK, BULK).recorded()])
    words = Cascade(ClearToolResults(keep=1, at_least=1), Summarize(unit="tokens"), TruncateOldest(ceiling=0))
    plan = words.plan(transcript.view, Room(500, TOKENS))
    assert plan is not None and plan.request is not None and len(plan.edits) == 1
    log = transcript.recorded()
    assert record(transcript, plan, text="").fate == "discarded" and transcript.recorded() == log
    assert record(transcript, plan, text="gist").fate == "kept"


def test_a_plan_is_recorded_whole_or_not_at_all() -> None:
    transcript, pool = calls(BULK, BULK, "short"), Pool()
    plan = Offload(larger_than=10, keep=1).plan(transcript.view, TIGHT)
    assert plan is not None
    log = transcript.recorded()
    wrong = plan._replace(edits=(Mask("nobody", "-"),))
    assert record(transcript, wrong, pool=pool).fate == "discarded"
    assert transcript.recorded() == log and not len(pool)
    with pytest.raises(InvalidValue, match="requests no summary"):
        record(transcript, plan, text="gist", pool=Pool())
