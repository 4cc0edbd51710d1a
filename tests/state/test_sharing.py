"""What forks, views and edits share: memory, and what was counted."""

import tracemalloc
from collections.abc import Callable

import pytest

from quire.items import Hide, Item, Mask, Message, Pin, Span, Summary
from quire.state import Transcript, View
from tests.counting import Items, calls_of, held_by


def filled(length: int) -> Transcript:
    return Transcript(Message("user", f"secret {number}", id=f"{number:08d}") for number in range(length))


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
def test_a_write_among_many_keeps_as_much_as_one_among_few(kind: str) -> None:
    few, some, many = (held_by(edited(kind, times))[0] for times in (75, 150, 300))
    assert many - some < 2.4 * (some - few) and (many - some) / 150 < 250


def told_of(view: View) -> int:
    return calls_of(lambda: [view.fate_at(position) for position in range(view.end)])


@pytest.mark.parametrize("kind", EDITS)
def test_what_became_of_all_items_is_told_in_one_go(kind: str) -> None:
    few, many = (told_of(edited(kind, times).view) for times in (100, 200))
    assert many < 2.4 * few


def test_nothing_is_counted_twice() -> None:
    class Once(Items):
        key = "once"
        asked = 0

        def count(self, item: Item) -> int:
            self.asked += 1
            return 1

    counter, transcript = Once(), filled(100)
    assert transcript.view.tokens(counter) == 100
    child = transcript.fork()
    for one in (transcript, child):
        one.append(Message("user", "one more"))
    transcript.append(Hide((Span("00000000", "00000089"),)))
    assert (transcript.view.tokens(counter), child.view.tokens(counter)) == (11, 101)
    assert counter.asked == 102
