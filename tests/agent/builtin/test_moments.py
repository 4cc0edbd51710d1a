"""The worst moments for a swap, one by one: right before a file is opened, right after, before a rename."""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from quire.errors import QuireError
from tests.agent.builtin.attacking import SECRET, World


@pytest.fixture
def world(quick_path: Path) -> World:
    return World(quick_path)


@contextmanager
def swapping(
    call: str, name: str, *, before: Callable[[], None] | None = None, after: Callable[[], None] | None = None
) -> Generator[None]:
    """Somebody else acts right before and right after the first time that the system is asked for a name."""
    real, waiting = getattr(os, call), [name]

    def watched(path: Any, *rest: Any, **named: Any) -> Any:
        is_it = path in waiting
        if is_it:
            waiting.clear()
        if is_it and before:
            before()
        result = real(path, *rest, **named)
        if is_it and after:
            after()
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, call, watched)
        yield
    assert not waiting, "the system was never asked for this name"


def plain(world: World) -> None:
    put(world, lambda path: path.write_text("inside"))


def link(world: World) -> None:
    put(world, lambda path: path.symlink_to(world.single))


def hard_link(world: World) -> None:
    put(world, lambda path: os.link(world.single, path))


def pipe(world: World) -> None:
    put(world, os.mkfifo)


def put(world: World, make: Callable[[Path], object]) -> None:
    """Make something, and give it the name at once."""
    make(world.room / "other")
    os.rename(world.room / "other", world.room / "plain.txt")


Act = Callable[[World], str]

ACTS: dict[str, Act] = {
    "read": lambda world: world.looking.read_file("plain.txt"),
    "edit": lambda world: world.changing.edit_file("plain.txt", "stays", "goes"),
    "copy": lambda world: world.changing.copy_file("plain.txt", "copy.txt"),
    "search": lambda world: world.looking.search_files("stays", "plain.txt"),
}


@pytest.mark.parametrize("trap", [link, hard_link, pipe])
@pytest.mark.parametrize("act", ACTS)
def test_a_trap_set_between_the_look_and_the_opening(
    world: World, act: str, trap: Callable[[World], None]
) -> None:
    with swapping("open", "plain.txt", before=lambda: trap(world)):
        try:
            answer = ACTS[act](world)
        except QuireError as refused:
            answer = str(refused)
        else:
            assert act == "search"
            assert "files left out (no text, too large, or closed to these tools): 1" in answer
    world.check(answer) if trap is not hard_link else outside_is_untouched(world, answer)


@pytest.mark.parametrize("act", ACTS)
def test_a_hard_link_that_is_gone_before_its_names_are_counted(world: World, act: str) -> None:
    with swapping("open", "plain.txt", before=lambda: hard_link(world), after=lambda: plain(world)):
        try:
            answer = ACTS[act](world)
        except QuireError as refused:
            answer = str(refused)
    world.check(answer)


def outside_is_untouched(world: World, answer: str) -> None:
    assert SECRET not in answer
    assert world.single.read_text() == SECRET
    (world.room / "plain.txt").unlink()
    world.check(answer)


WRITING: dict[str, Act] = {
    "write": lambda world: world.changing.write_file("plain.txt", "new"),
    "edit": lambda world: world.changing.edit_file("plain.txt", "plain", "new"),
    "copy": lambda world: world.changing.copy_file("inside/deep/plain.txt", "plain.txt", overwrite=True),
}


@pytest.mark.parametrize("act", WRITING)
def test_a_link_set_before_the_rename_is_replaced_and_not_followed(world: World, act: str) -> None:
    unseen: list[str] = []
    real = os.rename

    def late(source: Any, target: Any, **named: Any) -> None:
        if str(source).startswith(".quire-"):
            unseen.append(source)
            (world.room / "plain.txt").unlink()
            (world.room / "plain.txt").symlink_to(world.single)
        real(source, target, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "rename", late)
        world.check(WRITING[act](world))
    assert len(unseen) == 1
    assert not (world.room / "plain.txt").is_symlink()
    assert not list(world.room.glob(".quire-*"))


def to_a_link(world: World) -> None:
    (world.room / "inside").rename(world.room / "elsewhere")
    (world.room / "inside").symlink_to(world.outside / "folder")


IN_A_FOLDER: dict[str, Act] = {
    "find": lambda world: world.looking.find_files("*"),
    "search": lambda world: world.looking.search_files("stays"),
    "list": lambda world: world.looking.list_files("inside"),
    "copy": lambda world: world.changing.copy_file("inside", "copy"),
    "remove": lambda world: world.changing.remove_file("inside", recursive=True),
    "write": lambda world: world.changing.write_file("inside/inner.txt", "new"),
    "move": lambda world: world.changing.move_file("plain.txt", "inside/inner.txt", overwrite=True),
}


@pytest.mark.parametrize("act", IN_A_FOLDER)
def test_a_folder_that_becomes_a_link_before_it_is_opened(world: World, act: str) -> None:
    with swapping("open", "inside", before=lambda: to_a_link(world)):
        try:
            answer = IN_A_FOLDER[act](world)
        except QuireError as refused:
            answer = str(refused)
    world.check(answer)


def test_a_folder_that_becomes_a_link_while_its_parent_is_removed(world: World) -> None:
    def swap() -> None:
        (world.room / "inside" / "deep").rename(world.room / "elsewhere")
        (world.room / "inside" / "deep").symlink_to(world.outside / "folder")

    opened: list[str] = []
    real = os.open

    def late(path: Any, *rest: Any, **named: Any) -> int:
        opened.append(path)
        if path == "deep" and opened.count("deep") == 2:  # once to count, once to remove
            swap()
        return real(path, *rest, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", late)
        with pytest.raises(QuireError, match="links are never followed"):
            world.changing.remove_file("inside", recursive=True)
    world.check("")
