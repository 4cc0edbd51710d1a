"""The history by example: what is cut, what is refused, what is changed, and where the input stands."""

import pytest
from msgspec.structs import replace

from quire.errors import InvalidLimit, InvalidValue, UnknownKey, WrongType
from quire.items import Hide, Item, Message, Pin, Reasoning, Span, Summary, ToolCall, ToolResult
from quire.sections import Ask, History
from quire.state import Transcript, View, by_role, tool_traffic
from tests.sections.asking import asked, items_from


def talk(*extra: Item) -> Transcript:
    items: list[Item] = [
        Message("system", "Be brief.", id="s"),
        Message("user", "First?", id="u1"),
        ToolCall("c1", "look", id="c1"),
        ToolResult("c1", "look", "seen", id="r1"),
        Message("assistant", "So.", id="a1"),
        Message("user", "Second?", id="u2"),
        Message("assistant", "Let me see.", id="a2"),
        ToolCall("c2", "look", id="c2"),
        ToolResult("c2", "look", "seen too", id="r2"),
    ]
    # What is handed in was made before these: it is to come after them.
    return Transcript([*(replace(item, created_at=0.0) for item in items), *extra])


def ids(history: History, transcript: Transcript, input_id: str | None = None) -> list[str]:
    view = transcript.view
    given = None if input_id is None else view.get(input_id)
    return [item.id for item in items_from(history, Ask(views={"main": view}, input=given))]


def test_all_of_it_is_the_view_itself() -> None:
    view = talk().view
    assert asked(History(), Ask(views={"main": view})) is view
    assert asked(History(messages=100), Ask(views={"main": view})) is view
    assert asked(History(turns=2), Ask(views={"main": view})) is view
    assert asked(History("side"), Ask(views={"side": view, "main": talk().view})) is view


def test_the_last_messages_with_whole_groups_and_what_always_stays() -> None:
    assert ids(History(messages=1), talk()) == ["s", "u2", "a2", "c2", "r2"]
    assert ids(History(messages=5), talk()) == ["s", "a1", "u2", "a2", "c2", "r2"]
    assert ids(History(messages=6), talk()) == ["s", "c1", "r1", "a1", "u2", "a2", "c2", "r2"]


def test_the_last_turns_with_pins_summaries_and_calls_that_wait() -> None:
    transcript = talk(
        Pin("a1"),
        ToolCall("c3", "slow", id="c3"),
        Message("user", "Third?", id="u3"),
        Message("assistant", "a"),
    )
    assert ids(History(turns=1), transcript)[:-1] == ["s", "a1", "c3", "u3"]
    transcript.append(ToolResult("c3", "slow", "at last", id="r3"))
    assert ids(History(turns=1), transcript)[:4] == ["s", "a1", "c3", "u3"]
    transcript.append(Message("user", "Fourth?", id="u4"))
    assert ids(History(turns=1), transcript) == ["s", "a1", "u4"]
    transcript.append(Summary("gist", (Span("u1", "r1"),), id="gist"))
    assert ids(History(turns=1), transcript) == ["s", "gist", "a1", "u4"]


def test_a_refusal_takes_the_whole_group_but_never_the_last_message_of_the_user() -> None:
    assert ids(History(where=~tool_traffic), talk()) == ["s", "u1", "a1", "u2"]
    assert ids(History(where=by_role("assistant")), talk()) == ["a1", "u2"]
    assert ids(History(where=by_role("assistant"), messages=1), talk()) == ["u2"]
    assert ids(History(where=lambda item: item.id != "r2", turns=1), talk()) == ["s", "u2"]


def test_a_group_astride_of_one_that_changed_is_judged_whole() -> None:
    history = History(where=lambda item: item.id != "c1")
    transcript = Transcript(
        [
            Message("user", "Both.", id="u1"),
            ToolCall("c1", "slow", id="c1"),
            Message("user", "And?", id="u2"),
            ToolCall("c2", "slower", id="c2"),
            ToolResult("c1", "slow", "one", id="r1"),
        ]
    )
    assert ids(history, transcript) == ["u1", "u2", "c2"]
    transcript.append(ToolResult("c2", "slower", "two", id="r2"))
    assert ids(history, transcript) == ["u1", "u2", "c2", "r2"]


def test_a_verdict_changes_when_the_group_does() -> None:
    history = History(where=lambda item: not isinstance(item, ToolResult))
    transcript = Transcript([Message("user", "Look.", id="u"), ToolCall("c1", "look", id="c")])
    assert ids(history, transcript) == ["u", "c"]
    transcript.append(ToolResult("c1", "look", "seen", id="r"))
    assert ids(history, transcript) == ["u"]


def test_what_was_asked_is_not_asked_again() -> None:
    seen: list[str] = []

    def is_noted(item: Item) -> bool:
        seen.append(item.id)
        return True

    history = History(where=is_noted)
    transcript = talk(Message("user", "Third?", id="u3"))
    ids(history, transcript)
    seen.clear()
    transcript.append(Message("assistant", "Yes.", id="a3"))
    assert len(ids(history, transcript)) == 11 and seen == ["a3"]
    transcript.append(Message("user", "Fourth?", id="u4"))
    assert len(ids(history, transcript)) == 12 and seen == ["a3", "u4"]


def test_a_transform_changes_and_drops_and_what_it_gives_stands_for_the_item() -> None:
    def louder(item: Item) -> Item | None:
        if isinstance(item, Reasoning):
            return None
        return Message(item.role, item.text.upper()) if isinstance(item, Message) else item

    transcript = talk(Reasoning("hm", id="t"), Message("assistant", "Done.", id="a3"))
    view = transcript.view
    items = items_from(History(transform=louder), Ask(views={"main": view}))
    assert [item.id for item in items] == [item.id for item in view if item.id != "t"]
    last = items[-1]
    assert isinstance(last, Message) and last.content == "DONE." and last.created_at == view[-1].created_at


def test_a_transform_that_parts_a_call_from_its_result_loses_both() -> None:
    assert ids(History(transform=lambda item: None if item.id == "r1" else item), talk()) == [
        *("s", "u1", "a1", "u2", "a2", "c2", "r2")
    ]
    assert ids(History(transform=lambda item: None if item.id in ("c2", "r2") else item), talk())[-2:] == [
        *("u2", "a2")
    ]
    renamed = History(transform=lambda item: ToolCall("other", "x") if item.id == "c1" else item)
    assert "r1" not in ids(renamed, talk())
    words = History(transform=lambda item: Message("user", "?") if isinstance(item, ToolCall) else item)
    assert "r1" not in ids(words, talk())


def test_the_input_is_left_out_while_nothing_follows_it() -> None:
    history, transcript = History().without_input(), talk(Message("user", "Third?", id="u3"))
    assert history.leaves_input and not History().leaves_input
    view = transcript.view
    content = asked(history, Ask(views={"main": view}, input=view[-1]))
    assert isinstance(content, View) and list(content) == view[:-1] and len(view) == 10
    transcript.append(ToolCall("c3", "look", id="c3"))
    assert ids(history, transcript, "u3")[-2:] == ["u3", "c3"]
    assert ids(history, transcript)[-1] == "c3"


def test_the_input_is_left_out_after_an_edit_and_of_what_is_cut() -> None:
    transcript = talk(ToolCall("c3", "slow", id="c3"), Message("user", "Third?", id="u3"))
    content = asked(
        History().without_input(), Ask(views={"main": transcript.view}, input=transcript.get("u3"))
    )
    assert isinstance(content, View) and [call.id for call in content.pending()] == ["c3"]
    assert ids(History(turns=1).without_input(), transcript, "u3") == ["s", "c3"]
    assert ids(History(turns=2).without_input(), transcript, "u3") == ["s", "u2", "a2", "c2", "r2", "c3"]
    transcript.append(Hide((Span("u1", "r1"),)))
    assert ids(History().without_input(), transcript, "u3") == ["s", "a1", "u2", "a2", "c2", "r2", "c3"]
    assert ids(History(where=by_role("user")).without_input(), transcript, "u3") == ["u2"]
    assert ids(History(where=by_role("assistant")).without_input(), transcript, "u3") == ["a1"]


def test_an_input_that_is_not_recorded_or_answers_a_call_changes_nothing() -> None:
    view = talk().view
    history = History().without_input()
    assert asked(history, Ask(views={"main": view}, input=Message("user", "New."))) is view
    assert asked(history, Ask(views={"main": view}, input=view[-1])) is view
    empty = Transcript().view
    assert asked(history, Ask(views={"main": empty}, input=view[1])) is empty


def test_what_is_worked_out_is_kept_for_a_few_histories_only() -> None:
    from quire.state import memos

    transcript = talk()
    for _ in range(20):
        ids(History(turns=1), transcript)
    assert len(memos(transcript.view)) <= 4


async def undecided(item: Item) -> bool:
    return True


def test_what_a_history_refuses() -> None:
    ask = Ask(views={"main": talk().view})
    with pytest.raises(InvalidValue, match="not by both"):
        History(messages=1, turns=1)
    with pytest.raises(InvalidLimit, match="messages is 0"):
        History(messages=0)
    with pytest.raises(WrongType, match="turns is a whole number"):
        History(turns=True)
    with pytest.raises(WrongType, match="where is a function, not str"):
        History(where="user")  # type: ignore[arg-type]
    with pytest.raises(UnknownKey, match="no transcript 'side' here; there is 'main'"):
        asked(History("side"), ask)
    with pytest.raises(WrongType, match="answer at once"):
        asked(History(where=undecided), ask)  # type: ignore[arg-type]
    with pytest.raises(WrongType, match="answer at once"):
        asked(History(transform=undecided), ask)  # type: ignore[arg-type]
    for wrong in ("text", Pin("s")):
        with pytest.raises(WrongType, match=f"can be shown, or None, not {type(wrong).__name__}"):
            asked(History(transform=lambda item, wrong=wrong: wrong), ask)  # type: ignore[misc]
