"""Links that are put in place while the tools work: between a look and the use of what was seen."""

import ctypes
import os
import shutil
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from itertools import cycle
from pathlib import Path
from threading import Event, Thread

import pytest

from quire.agent.builtin.files.changing import Changing
from quire.agent.builtin.files.limits import FileLimits
from quire.agent.builtin.files.looking import Looking
from quire.agent.builtin.files.rooms import Rooms
from quire.errors import QuireError
from tests.agent.builtin.attacking import SECRET, World

LIBC = ctypes.CDLL(None)
ROUNDS = 500
ROUNDS_WITH_A_PROCESS = 10


@contextmanager
def repeating(step: Callable[[], None]) -> Generator[None]:
    """Somebody else, who does the same again and again, whatever comes of it."""
    stop, begun = Event(), Event()

    def run() -> None:
        while not stop.is_set():
            with suppress(OSError):
                step()
            begun.set()

    thread = Thread(target=run)
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        stop.set()
        thread.join()


class Spot:
    """A name in the room that is by turns something plain and a link to the outside, and never nothing."""

    def __init__(self, world: World, target: Path, make: Callable[[Path], None]) -> None:
        self._name, self._other = world.room / "spot", world.room / "spot.other"
        self._target, self._make = target, make

    def swap(self) -> None:
        if not (os.path.lexists(self._name) and os.path.lexists(self._other)):
            self._make_anew()  # it was removed, moved away, or replaced
        exchange(self._name, self._other)

    def _make_anew(self) -> None:
        for one in (self._name, self._other):
            with suppress(OSError):
                os.unlink(one)
            shutil.rmtree(one, ignore_errors=True)
        self._other.symlink_to(self._target)
        self._make(self._name)


def exchange(one: Path, other: Path) -> None:
    """What is under two names changes places, in one step: Linux can, Python has no word for it."""
    here, exchanging = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    LIBC.renameat2(here, os.fsencode(one), here, os.fsencode(other), exchanging)


def plain_folder(path: Path) -> None:
    path.mkdir()
    (path / "inner.txt").write_text("inside\n")


def plain_file(path: Path) -> None:
    path.write_text("inside\n")


def moved_to(world: World, target: str) -> str:
    world.changing.write_file("extra.txt", "inside\n")
    return world.changing.move_file("extra.txt", target, overwrite=True)


Act = Callable[[World, int], str]

ON_A_FOLDER: dict[str, Act] = {
    "list": lambda world, _: world.looking.list_files("spot"),
    "read": lambda world, _: world.looking.read_file("spot/inner.txt"),
    "find": lambda world, _: world.looking.find_files("*.txt"),
    "write": lambda world, _: world.changing.write_file("spot/inner.txt", "inside\n"),
    "write new": lambda world, number: world.changing.write_file(f"spot/{number}/new.txt", "inside\n"),
    "edit": lambda world, _: world.changing.edit_file("spot/inner.txt", "s", "s "),
    "copy from": lambda world, _: world.changing.copy_file("spot/inner.txt", "copy.txt", overwrite=True),
    "copy all": lambda world, number: world.changing.copy_file("spot", f"copies/{number}"),
    "copy to": lambda world, number: world.changing.copy_file("plain.txt", f"spot/{number}.txt"),
    "move from": lambda world, number: world.changing.move_file("spot/inner.txt", f"moved-{number}"),
    "move to": lambda world, _: moved_to(world, "spot/inner.txt"),
    "remove": lambda world, _: world.changing.remove_file("spot/inner.txt"),
    "remove all": lambda world, _: world.changing.remove_file("spot", recursive=True),
}
ON_A_FILE: dict[str, Act] = {
    "read": lambda world, _: world.looking.read_file("spot"),
    "write": lambda world, _: world.changing.write_file("spot", "inside\n"),
    "edit": lambda world, _: world.changing.edit_file("spot", "s", "s "),
    "copy from": lambda world, _: world.changing.copy_file("spot", "copy.txt", overwrite=True),
    "copy to": lambda world, _: world.changing.copy_file("plain.txt", "spot", overwrite=True),
    "move to": lambda world, _: moved_to(world, "spot"),
    "remove": lambda world, _: world.changing.remove_file("spot"),
}


def tried(world: World, act: Act, rounds: int) -> None:
    for number in range(rounds):
        try:
            answer = act(world, number)
        except QuireError as refused:
            answer = str(refused)
        assert SECRET not in answer


@pytest.mark.parametrize("way", ON_A_FOLDER)
def test_a_folder_that_becomes_a_link(quick_path: Path, way: str) -> None:
    world = World(quick_path)
    spot = Spot(world, world.outside / "folder", plain_folder)
    with repeating(spot.swap):
        tried(world, ON_A_FOLDER[way], ROUNDS)
    world.check("")


@pytest.mark.parametrize("way", ON_A_FILE)
def test_a_file_that_becomes_a_link(quick_path: Path, way: str) -> None:
    world = World(quick_path)
    spot = Spot(world, world.single, plain_file)
    with repeating(spot.swap):
        tried(world, ON_A_FILE[way], ROUNDS)
    world.check("")


@pytest.mark.parametrize("target", ["folder", "secret.txt"])
def test_a_search_beside_one_who_swaps(quick_path: Path, target: str) -> None:
    world = World(quick_path)
    make = plain_folder if target == "folder" else plain_file
    spot = Spot(world, world.outside / target, make)
    with repeating(spot.swap):
        tried(world, lambda world, _: world.looking.search_files("secret"), ROUNDS_WITH_A_PROCESS)
        tried(world, lambda world, _: world.looking.search_files("secret", "spot"), ROUNDS_WITH_A_PROCESS)
    world.check("")


@pytest.mark.parametrize("way", ["read", "write", "edit", "copy from", "copy to"])
def test_a_hard_link_that_comes_and_goes(quick_path: Path, way: str) -> None:
    world = World(quick_path)
    for name in ("hard", "inside/hard"):
        (world.room / name).unlink()  # as if the file outside had no other name
    spot, other = world.room / "spot", world.room / "other"

    def swap() -> None:
        plain_file(other)
        os.rename(other, spot)
        os.link(world.secret, other)
        os.rename(other, spot)

    with repeating(swap):
        tried(world, ON_A_FILE[way], ROUNDS)
    assert world.secret.read_text() == SECRET
    copy = world.room / "copy.txt"
    assert not copy.exists() or SECRET not in copy.read_text()


def test_a_pipe_that_comes_and_goes_does_not_hold_anybody_up(quick_path: Path) -> None:
    world = World(quick_path)

    def swap() -> None:
        os.mkfifo(world.room / "other")
        os.rename(world.room / "other", world.room / "spot")
        plain_file(world.room / "other")
        os.rename(world.room / "other", world.room / "spot")

    with repeating(swap):
        tried(world, ON_A_FILE["read"], ROUNDS)
    world.check("")


def test_edits_side_by_side_lose_nothing(quick_path: Path) -> None:
    # Two openings of one root, as in two processes: the room itself is what they wait for.
    both = [Changing(Rooms(quick_path, "all"), FileLimits(seconds=300)) for _ in range(2)]
    both[0].write_file("list.txt", "end\n")

    def add(one: Changing, mark: str) -> None:
        for number in range(20):
            one.edit_file("list.txt", "end", f"{mark}{number}\nend")

    threads = [Thread(target=add, args=(one, mark)) for one, mark in zip(both, "ab", strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = (quick_path / "all" / "list.txt").read_text().split()
    assert sorted(lines) == sorted([*(f"{mark}{number}" for mark in "ab" for number in range(20)), "end"])


def test_who_reads_while_others_write_sees_one_text_or_the_other(quick_path: Path) -> None:
    rooms = Rooms(quick_path, "all")
    looking, changing = Looking(rooms, FileLimits()), Changing(rooms, FileLimits())
    texts = ("a" * 1_000, "b" * 1_000)
    changing.write_file("one.txt", texts[0])
    turn = cycle(texts)

    def write() -> None:
        changing.write_file("one.txt", next(turn))

    with repeating(write):
        for _ in range(ROUNDS):
            with suppress(QuireError):  # replaced fifty times while it was opened: not here, but allowed
                seen = looking.read_file("one.txt").split("\t")[1].split("\n")[0]
                assert seen in texts
