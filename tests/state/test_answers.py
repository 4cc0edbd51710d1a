"""Which call a result is for, where ids come again: in one reply, in the next, and in what a child did."""

from itertools import combinations

import pytest
from hypothesis import given, strategies as st

from quire.errors import SplitsGroup
from quire.items import Hide, Item, Message, Reasoning, Span, ToolCall, ToolResult
from quire.providers import PROVIDERS
from quire.state import Transcript, answers, groups, merge_all, pending_calls
from tests.oracle import PlainTranscript

MODELS = {
    **{"openai": "gpt-5.6", "openai-responses": "gpt-5.6"},
    **{"anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-pro"},
}


def call(words: str, at: float, call_id: str = "c", name: str = "look") -> ToolCall:
    return ToolCall(call_id, name, f'{{"q":"{words}"}}', id=words, created_at=at)


def result(words: str, at: float, call_id: str = "c", name: str = "look") -> ToolResult:
    return ToolResult(call_id, name, f"of {words}", id=f"of {words}", created_at=at)


def asked(at: float = 0.0) -> Message:
    return Message("user", "go on", id=f"asked {at}", created_at=at)


def together(transcript: Transcript) -> list[set[str]]:
    found = (item.id for item in transcript.recorded() if isinstance(item, ToolResult))
    groups_of = [{item.id for item in group.items} for group in transcript.view.groups()]
    return [group for result_id in found for group in groups_of if result_id in group]


def on_the_wire(transcript: Transcript, wire: str) -> list[str]:
    """What each call was given, by the words it asked for, in the order of the payload."""
    rendered = PROVIDERS[wire].render(transcript.view, model=MODELS[wire])
    assert not PROVIDERS[wire].check(rendered.payload, MODELS[wire])
    read = PROVIDERS[wire].read_history(rendered.payload)
    call_of, waiting = answers(read)
    assert not waiting
    ids = [item.call_id for item in read if isinstance(item, ToolCall)]
    assert len(set(ids)) == len(ids), "each call has an id of its own"
    pairs = ((read[asked], read[given]) for given, asked in call_of.items())
    return [f"{_words(c)}: {_words(r)}" for c, r in pairs]


def _words(item: Item) -> str:
    if isinstance(item, ToolCall):
        return item.arguments.split('"')[3]
    assert isinstance(item, ToolResult)
    return "of " + item.text.partition("of ")[2].rstrip('"}')


def test_calls_of_one_reply_are_answered_in_their_order() -> None:
    items: list[Item] = [asked(), call("a", 1.0), call("b", 2.0), result("a", 3.0)]
    assert [waiting.id for waiting in Transcript(items).view.pending()] == ["b"]
    assert [waiting.id for waiting in pending_calls(items)] == ["b"]
    assert answers([*items, result("b", 4.0)]) == ({3: 1, 4: 2}, [])


def test_of_two_replies_the_latest_is_answered_first() -> None:
    items: list[Item] = [
        asked(),
        call("a", 1.0),
        asked(2.0),
        call("b", 3.0),
        call("c", 4.0),
        result("b", 5.0),
    ]
    assert [waiting.id for waiting in Transcript(items).view.pending()] == ["a", "c"]
    assert [[item.id for item in group.items] for group in groups(items)][-1] == ["b", "c", "of b"]


@pytest.mark.parametrize("wire", MODELS)
def test_calls_of_one_reply_have_their_own_results_on_the_wire(wire: str) -> None:
    transcript = Transcript([asked(), call("a", 1.0), call("b", 2.0), result("a", 3.0), result("b", 4.0)])
    assert on_the_wire(transcript, wire) == ["a: of a", "b: of b"]


@pytest.mark.parametrize("first", ["parent", "child"], ids=["the parent first", "the child first"])
@pytest.mark.parametrize("wire", MODELS)
def test_parent_and_child_have_their_own_results(wire: str, first: str) -> None:
    parent = Transcript([asked(), call("parent", 1.0)])
    child = parent.fork()
    child.append(call("child", 2.0))
    merge_all(parent, child, agent_id="kid")
    child.append(result("child", 3.0))
    if first == "parent":
        parent.append(result("parent", 4.0))
    merge_all(parent, child, agent_id="kid")
    if first == "child":
        parent.append(result("parent", 4.0))
    assert {frozenset(group) for group in together(parent)} == {
        frozenset({"parent", "of parent"}),
        frozenset({"child", "of child"}),
    }
    assert sorted(on_the_wire(parent, wire)) == ["child: of child", "parent: of parent"]


STEPS = st.lists(
    st.tuples(st.sampled_from("ccrrru"), st.integers(0, 1), st.integers(0, 1), st.integers(0, 2)), max_size=14
)


def replayed(steps: list[tuple[str, int, int, int]]) -> list[Item]:
    """Calls and results under two ids, of two tools, some of them merged at two times."""
    items: list[Item] = [asked()]
    for at, (kind, number, tool, merge) in enumerate(steps, 1):
        extras = {"quire.merged": f"m{merge}"} if merge else {}
        named = {"id": f"i{at:02d}", "created_at": float(at)}
        if kind == "u":
            items.append(asked(float(at)))
        elif kind == "c":
            items.append(ToolCall(f"c{number}", f"tool{tool}", extras=extras, **named))  # type: ignore[arg-type]
        else:
            items.append(ToolResult(f"c{number}", f"tool{tool}", "x", extras=extras, **named))  # type: ignore[arg-type]
    return items


@pytest.mark.laws
@given(STEPS)
def test_the_rule_is_one_in_transcripts_in_sequences_and_in_the_oracle(
    steps: list[tuple[str, int, int, int]],
) -> None:
    items = replayed(steps)
    transcript, plain = Transcript(items), PlainTranscript()
    for item in items:
        plain.append(item)
    waiting = [plain.log[p].id for p in plain.open_calls()]
    assert [waits.id for waits in transcript.view.pending()] == waiting
    assert [waits.id for waits in transcript.at(len(items)).pending()] == waiting
    assert sorted(waits.id for waits in pending_calls(items)) == waiting
    view = transcript.view
    assert [view.log.head(position) for position in range(len(items))] == plain.heads
    assert view.groups() == groups(items)


def test_a_stale_result_of_a_child_answers_no_later_call() -> None:
    parent = Transcript([asked(), call("first", 1.0)])
    child = parent.fork()
    child.append(result("late", 2.0))
    parent.extend([result("first", 3.0), asked(4.0), call("second", 5.0, name="delete")])
    merge_all(parent, child, agent_id="kid")
    assert [waits.id for waits in parent.view.pending()] == ["second"]
    parent.append(result("second", 6.0, name="delete"))
    assert together(parent) == [{"first", "of first"}, {"of late"}, {"second", "of second"}]


@pytest.mark.parametrize("deep", [False, True])
def test_what_a_copy_answered_is_answered_in_its_parent(deep: bool) -> None:
    parent = Transcript([asked(), call("a", 1.0), call("b", 2.0)])
    copy = parent.copy()
    copied = copy.copy()
    (copied if deep else copy).extend([result("a", 3.0), result("b", 4.0)])
    if deep:
        merge_all(copy, copied)
    parent.append(call("other", 5.0))
    merge_all(parent, copy)
    assert [waits.id for waits in parent.view.pending()] == ["other"]
    assert {"a", "b", "of a", "of b", "other"} in together(parent)


def test_what_was_answered_between_two_merges_stays_together() -> None:
    """A child answers a call that came with a merge: its parent has both, with marks of two lengths."""
    parent = Transcript([asked()])
    child = parent.copy()
    grandchild = child.copy()
    grandchild.append(call("deep", 1.0))
    merge_all(child, grandchild)
    child.append(result("deep", 2.0))
    merge_all(parent, child)
    assert together(parent) == [{"deep", "of deep"}]
    assert not parent.view.pending()


def test_a_reply_that_others_spoke_into_between_two_merges_is_one_group() -> None:
    parent = Transcript([asked()])
    child = parent.fork()
    child.append(Reasoning("hm", id="thought", created_at=1.0))
    merge_all(parent, child)
    parent.append(Message("assistant", "Wait.", id="wait", created_at=2.0))
    child.extend([call("c", 3.0), result("c", 4.0)])
    merge_all(parent, child)
    assert together(parent) == [{"thought", "c", "of c"}] == together(child)
    assert groups(list(parent.view)) == parent.view.groups()
    with pytest.raises(SplitsGroup):
        parent.append(Hide((Span("thought", "thought"),)))


def test_a_merged_call_takes_no_result_that_was_recorded_here() -> None:
    parent = Transcript([asked()])
    child = parent.fork()
    child.extend([call("kid", 1.0), result("kid", 4.0)])
    parent.append(result("stray", 3.0))
    merge_all(parent, child)
    assert together(parent) == [{"of stray"}, {"kid", "of kid"}]


def test_an_id_with_a_slash_is_one_mark() -> None:
    parent = Transcript([asked()])
    child = parent.fork()
    child.append(ToolCall("c", "look", id="x/1", created_at=1.0))
    merge_all(parent, child)
    other = Transcript([ToolResult("c", "look", "stale", id="x/2", created_at=2.0)])
    merge_all(parent, other)
    assert [waits.id for waits in parent.view.pending()] == ["x/1"]


SIDES = st.lists(
    st.tuples(st.sampled_from("pk"), st.sampled_from("ccrru"), st.integers(0, 1), st.integers(0, 3)),
    max_size=14,
)


@pytest.mark.laws
@given(SIDES, SIDES, st.booleans())
def test_a_merge_joins_only_what_the_child_had_joined(
    before: list[tuple[str, str, int, int]], after: list[tuple[str, str, int, int]], forked: bool
) -> None:
    parent = Transcript([asked()])
    for at, step in enumerate(before, 1):
        parent.append(_step(step, at))
    child = parent.fork() if forked else parent.copy()
    inherited = {item.id for item in child.recorded()}
    for at, step in enumerate(after, 20):
        (parent if step[0] == "p" else child).append(_step(step, at))
    known = {item.id for item in child.recorded()}
    own, pairs, earlier = known - inherited, _pairs(child), _pairs(parent)
    merge_all(parent, child)
    assert {pair for pair in _pairs(parent) if not pair & own} == earlier
    assert {pair for pair in _pairs(parent) if pair & own and pair <= known} <= pairs
    for group in (frozenset(item.id for item in group.items) for group in parent.view.groups()):
        assert group <= known or not group & own or group & inherited, "joined what the child never saw"
    if forked:  # a copy may go on with a reply of its parent, and no merge does
        assert {p for p in _pairs(parent) if p <= own} == {p for p in pairs if p <= own}


def _pairs(transcript: Transcript) -> set[frozenset[str]]:
    """Any two that stand in one group."""
    found = ([item.id for item in group.items] for group in transcript.view.groups())
    return {frozenset(pair) for ids in found for pair in combinations(ids, 2)}


def _step(step: tuple[str, str, int, int], at: int) -> Item:
    side, kind, number, back = step
    named = {"id": f"{side}{at:02d}", "created_at": float(at - back)}
    if kind == "u":
        return Message("user", "go on", **named)  # type: ignore[arg-type]
    if kind == "c":
        return ToolCall(f"c{number}", "look", **named)  # type: ignore[arg-type]
    return ToolResult(f"c{number}", "look", "x", **named)  # type: ignore[arg-type]
