"""A plain edit looks at what it touches, however many users, pins, summaries and open calls there are."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from quire.errors import DuplicateId
from quire.items import Hide, Item, Mask, Message, Note, Pin, Span, Summary, ToolCall, ToolResult
from quire.state import Log, Segment, Transcript, fork_scoped, newest, truncate
from tests.counting import Items

MANY = 300
FEW = 40


def spoken(turns: int) -> Iterator[Item]:
    for turn in range(turns):
        yield Message("user", "q", id=f"q{turn:03d}", created_at=float(turn))
        yield Message("assistant", "a", id=f"r{turn:03d}", created_at=float(turn))


def visits(monkeypatch: pytest.MonkeyPatch, verb: str, act: Callable[[], object]) -> int:
    """How often the log is asked for something while one acts."""
    asked: list[object] = []
    plain: Callable[..., Any] = getattr(Log, verb)

    def counting(log: Log, *rest: Any) -> Any:
        asked.append(rest)
        return plain(log, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(Log, verb, counting)
        act()
    return len(asked)


def test_one_late_item_does_not_make_an_edit_look_at_all_users(monkeypatch: pytest.MonkeyPatch) -> None:
    transcript = Transcript(spoken(MANY))
    transcript.append(Note("late", created_at=5.0))
    hide = Hide((Span("q100", "r100"),))
    assert visits(monkeypatch, "time", lambda: transcript.append(hide)) < 2 * FEW


def test_a_cover_looks_at_the_pins_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    transcript = Transcript(spoken(MANY))
    transcript.extend(Pin(f"r{turn:03d}") for turn in range(MANY))
    hide = Hide((Span("q100", "r100"),))
    assert visits(monkeypatch, "group", lambda: transcript.append(hide)) < FEW
    assert transcript.view.fate("q100").state == "hidden" and transcript.view.fate("r100").state == "pinned"


def test_a_summary_finds_those_it_folds_without_reading_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    transcript = Transcript(spoken(MANY))
    gists = [Summary("s", (Span(f"q{t:03d}", f"r{t:03d}"),), id=f"s{t:03d}") for t in range(MANY - 1)]
    transcript.extend(gists)
    transcript.append(Summary("of two", (Span("q007", "r008"),)))
    fold = Summary("of three", (Span("q100", "r102"),), id="t")
    assert visits(monkeypatch, "find", lambda: transcript.append(fold)) < FEW
    assert transcript.view.fate("q101") == ("covered", "t")


def test_a_group_with_many_open_calls_is_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    transcript = Transcript(spoken(9))
    transcript.extend(ToolCall(f"c{number}", "read", id=f"t{number:03d}") for number in range(MANY))
    hide = Hide((Span("q001", "r001"),))
    assert visits(monkeypatch, "group", lambda: transcript.append(hide)) < FEW
    cut = visits(monkeypatch, "group", lambda: truncate(transcript.view, tokens=MANY + 10, counter=Items()))
    assert cut < FEW


def answered_later(turns: int) -> Transcript:
    """Tools that answer after the user's next words, as with voice or background jobs."""
    transcript = Transcript()
    for turn in range(turns):
        transcript.extend(
            [
                Message("user", "q", id=f"q{turn:03d}"),
                ToolCall("c", "read", id=f"r{turn:03d}"),
                Message("user", "meanwhile", id=f"s{turn:03d}"),
                ToolResult("c", "read", "x", id=f"t{turn:03d}"),
            ]
        )
    return transcript


def test_a_cut_looks_at_the_scattered_groups_that_it_falls_into(monkeypatch: pytest.MonkeyPatch) -> None:
    transcript = answered_later(MANY)
    view, cuts = transcript.view, list[Hide | None]()
    walk = visits(monkeypatch, "group", lambda: cuts.append(truncate(view, tokens=MANY, counter=Items())))
    assert walk < FEW
    assert cuts[0] is not None
    hide = cuts[0]
    assert visits(monkeypatch, "group", lambda: transcript.append(hide)) < FEW
    assert len(transcript.view) <= MANY


def test_a_narrow_fork_looks_at_the_scattered_groups_at_its_edge(monkeypatch: pytest.MonkeyPatch) -> None:
    transcript = answered_later(MANY)
    assert visits(monkeypatch, "group", lambda: fork_scoped(transcript, turns=3)) < FEW


class Counting(Items):
    """Counts items, and how often it is asked."""

    key = "counting"
    asked = 0

    def count(self, item: Item) -> int:
        self.asked += 1
        return 1


def test_a_turn_counts_no_stub_again() -> None:
    transcript, counter = Transcript(spoken(MANY)), Counting()
    transcript.extend(Mask(f"r{turn:03d}", "[cleared]") for turn in range(MANY - 5))
    newest(transcript.view, tokens=FEW, counter=counter)
    counter.asked = 0
    transcript.append(Message("user", "and?", id="u"))
    cut = newest(transcript.view, tokens=FEW, counter=counter)
    assert counter.asked == 1 and len(cut) <= FEW and cut[-1].id == "u"


def test_a_failed_batch_copies_nothing_of_the_past(monkeypatch: pytest.MonkeyPatch) -> None:
    transcript = Transcript(spoken(MANY))
    first, twice = Message("user", "y", id="y"), Message("user", "x", id="x")
    kept = transcript.view
    copied: list[int] = []
    plain = Segment.copy_until

    def counting(segment: Segment, end: int, highest: str) -> Segment:
        copied.append(end)
        return plain(segment, end, highest)

    monkeypatch.setattr(Segment, "copy_until", counting)
    for _ in range(3):
        with pytest.raises(DuplicateId):
            transcript.extend([first, twice, twice])
    assert not copied
    assert list(transcript.view) == list(kept)
    transcript.extend([first, twice])
    assert [item.id for item in transcript.view[-2:]] == ["y", "x"]
