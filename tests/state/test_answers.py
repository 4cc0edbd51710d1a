"""Which call a result is for, where ids come again: in one reply, in the next, and in what a child did."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.items import Item, Message, ToolCall, ToolResult
from quire.providers import PROVIDERS
from quire.state import Transcript, groups, merge_all, pending_calls
from quire.state.groups import answers
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
