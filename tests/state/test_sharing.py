"""What forks, views and edits share: memory, threads, lazy segments, memos."""

import threading
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from quire.errors import DuplicateId, UnknownId, WrongType
from quire.items import Hide, Item, Mask, Message, Pin, Span, Summary, ToolCall, ToolResult
from quire.state import Transcript, View, keep_memo, memos, truncate
from quire.testing.plain import FourCharacters
from tests.counting import Items, calls_of, held_by


def filled(length: int) -> Transcript:
    return Transcript(Message("user", f"secret {number}", id=f"{number:08d}") for number in range(length))


def shown(transcript: Transcript) -> list[str]:
    return [item.id for item in transcript.view]


def memory_of_forks(length: int, forks: int = 50) -> float:
    transcript = filled(length)
    tracemalloc.start()
    children = [transcript.fork() for _ in range(forks)]
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(children[-1].view) == length
    return held / forks


def test_a_fork_takes_the_same_memory_whatever_the_length() -> None:
    small, large = memory_of_forks(10), memory_of_forks(20_000)
    assert large < 1.5 * small + 64


EDITS: dict[str, Callable[[str, str], Item]] = {
    "append": lambda _, own: Message("user", "more", id=own),
    "hide": lambda target, own: Hide((Span(target, target),), id=own),
    "mask": lambda target, own: Mask(target, "[cleared]", id=own),
    "pin": lambda target, own: Pin(target, id=own),
    "summary": lambda target, own: Summary("gist", (Span(target, target),), id=own),
}


def edited(kind: str, times: int) -> Transcript:
    """A transcript after some writes of one kind; what is shown was counted after each."""
    transcript = filled(3 * times + 1)
    for number in range(times):
        transcript.append(EDITS[kind](f"{3 * number:08d}", f"z{number:08d}"))
        transcript.view.counted(Items())
    assert len(transcript.at(3 * times)) == 3 * times
    return transcript


@pytest.mark.parametrize("kind", EDITS)
def test_a_write_among_a_thousand_keeps_as_much_as_one_among_a_hundred(kind: str) -> None:
    few, some, many = (held_by(edited(kind, times))[0] for times in (250, 500, 1_000))
    assert many - some < 2.4 * (some - few) and (many - some) / 500 < 250


def told_of(view: View) -> int:
    return calls_of(lambda: [view.fate_at(position) for position in range(view.end)])


@pytest.mark.parametrize("kind", EDITS)
def test_what_became_of_all_items_is_told_in_one_go(kind: str) -> None:
    few, many = (told_of(edited(kind, times).view) for times in (200, 400))
    assert many < 2.4 * few


def test_a_fork_does_not_see_what_came_into_the_shared_segment_later() -> None:
    parent = filled(300)
    child = parent.fork()
    with pytest.raises(WrongType):
        parent.extend([Message("user", "left behind", id="behind"), None])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
    parent.extend([ToolCall("c", "slow", id="p1"), Message("user", "there?", id="p2")])
    parent.append(ToolResult("c", "slow", "done", id="p3"))
    child.append(Message("user", "mine", id="x"))
    assert "p1" not in child and "x" not in parent and "behind" not in parent
    with pytest.raises(UnknownId):
        child.get("p2")
    child.extend([Message("user", "of the same id", id="p2"), Message("user", "last", id="y")])
    child.append(Hide((Span("x", "p2"),)))
    assert shown(child)[-2:] == ["00000299", "y"] and shown(parent)[-3:] == ["p1", "p2", "p3"]
    with pytest.raises(DuplicateId):
        child.append(Message("user", "again", id="00000007"))


def test_nothing_is_counted_twice() -> None:
    class Once(Items):
        key = "once"
        asked = 0

        def count(self, item: Item) -> int:
            self.asked += 1
            return 1

    counter, transcript = Once(), filled(100)
    assert transcript.view.tokens(counter) == 100
    transcript.append(Message("user", "one more"))
    child = transcript.fork()
    child.append(Message("user", "aside"))
    assert (transcript.view.tokens(counter), child.view.tokens(counter)) == (101, 102)
    edit = truncate(transcript.view, tokens=10, counter=counter)
    assert edit is not None
    transcript.append(edit)
    assert transcript.view.tokens(counter) == 10
    assert counter.asked == 103, "the child counts the message that its parent counts, too"


def test_readers_count_while_a_writer_appends() -> None:
    counter, transcript = FourCharacters(), filled(500)
    stop = threading.Event()

    def write() -> None:
        for number in range(500, 4_000):
            transcript.append(Message("user", f"secret {number}", id=f"{number:08d}"))
        stop.set()

    def read() -> list[tuple[int, int]]:
        seen: list[tuple[int, int]] = []
        while not stop.is_set():
            view = transcript.view
            seen.append((len(view), view.tokens(counter)))
            child = transcript.fork()
            child.append(Message("assistant", "aside"))
            assert len(child.view) >= len(view)
        return seen

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        pool.submit(write).result()
    fresh = filled(4_000)
    for reader in readers:
        for length, tokens in reader.result()[:: max(1, len(reader.result()) // 20)]:
            assert tokens == fresh.at(length).tokens(FourCharacters())


def test_a_reader_continues_from_where_an_earlier_view_ended() -> None:
    transcript = filled(3)
    before = transcript.view
    transcript.append(Message("user", "more", id="more"))
    assert [item.id for item in transcript.view.added_since(before) or ()] == ["more"]
    transcript.append(Mask("00000000", "[cleared]"))
    assert transcript.view.added_since(before) is None
    keep_memo(before, "a text", "computed")
    for number in range(10):
        keep_memo(before, number, number)
    assert memos(transcript.view)["a text"] == "computed"
    assert [key for key in memos(before) if isinstance(key, int)] == [6, 7, 8, 9]
