"""What forks share, what threads may do at once, and what the logs say."""

import logging
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import pytest

from quire.items import Hide, Mask, Message, Pin, Span, Summary
from quire.state import Transcript, truncate
from tests.counting import FourCharacters


def filled(length: int) -> Transcript:
    return Transcript(Message("user", f"secret {number}", id=f"{number:08d}") for number in range(length))


def memory_of_forks(length: int, forks: int = 50) -> float:
    transcript = filled(length)
    transcript.fork()
    tracemalloc.start()
    children = [transcript.fork() for _ in range(forks)]
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(children[-1].view) == length
    return held / forks


def test_a_fork_takes_the_same_memory_whatever_the_length() -> None:
    small, large = memory_of_forks(10), memory_of_forks(20_000)
    assert large < 1.5 * small + 64


def test_a_fork_that_writes_keeps_only_what_is_new() -> None:
    transcript = filled(20_000)
    child = transcript.fork()
    tracemalloc.start()
    for number in range(10):
        child.append(Message("user", "more", id=f"x{number}"))
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held < 20_000
    assert len(child.view) == 20_010


def test_each_edit_shares_what_it_does_not_touch() -> None:
    transcript = filled(3_000)
    tracemalloc.start()
    for number in range(0, 2_000, 2):
        item_id = f"{number:08d}"
        transcript.append(Hide((Span(item_id, item_id),), id=f"z{number:08d}"))
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(transcript.view) == 2_000
    assert held / 1_000 < 2_500, "every edit keeps a copy of all that is shown"
    assert len(transcript.at(3_500)) == 2_500


def memory_of_masks(masks: int) -> float:
    transcript = filled(2 * masks + 1)
    tracemalloc.start()
    for number in range(masks):
        transcript.append(Mask(f"{2 * number:08d}", "[cleared]", id=f"z{number:08d}"))
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert transcript.view.fate(f"{0:08d}").state == "masked"
    return held / masks


def test_an_edit_among_thousands_takes_little_memory() -> None:
    assert memory_of_masks(4_000) < 2_200, "every edit keeps a row of all leaves"


def memory_of_edits(kind: str, edits: int) -> float:
    """Bytes that an edit takes among many of its kind, each revision being kept."""
    transcript = Transcript()
    tracemalloc.start()
    for number in range(edits):
        transcript.append(Message("user", "secret", id=f"u{number:06d}", created_at=float(number)))
        target = f"u{number - (kind == 'summary'):06d}"
        if kind == "pin":
            transcript.append(Pin(target, id=f"x{number:06d}"))
        elif number:
            transcript.append(Summary("gist", (Span(target, target),), id=f"x{number:06d}"))
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(transcript.view) == edits
    return held / edits


@pytest.mark.parametrize("kind", ["pin", "summary"])
def test_pins_and_summaries_are_shared_by_all_that_hold_them(kind: str) -> None:
    assert memory_of_edits(kind, 1_600) < 2_200, "every edit keeps a row of all pins or all summaries"


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


def test_logs_name_ids_and_kinds_and_never_content(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="quire"):
        transcript = filled(20)
        transcript.append(Message("user", "secret and late", id="late", created_at=1.0))
        edit = truncate(transcript.view, tokens=60, counter=FourCharacters())
        assert edit is not None
        transcript.append(edit)
    assert {"late", edit.id} <= {word for record in caplog.records for word in record.getMessage().split()}
    assert all(record.name.startswith("quire.") for record in caplog.records)
    assert "secret" not in caplog.text
