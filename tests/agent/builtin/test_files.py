"""File tools: what they do, who shares files, and that nothing outside is read or changed."""

import asyncio
import json
import os
import re
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import combinations, product
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from quire import Agent, Budget, Session, Template, ToolCall
from quire.agent.builtin import Visibility, file_tools
from quire.agent.tools import run
from quire.errors import InvalidValue
from quire.models import Scripted
from quire.providers import Rendered
from quire.sections import History, Instructions
from quire.stores import MemoryStore

SECRET = "the-secret-that-stays-outside"
B = {"path": "a/b.txt"}


class Desk:
    """The tools of one folder, called as a model calls them. An error is its text."""

    def __init__(self, root: Path, visibility: Visibility = "all", agent: str = "") -> None:
        self.root, self.room = root, root / "all"
        self._tools = {one.name: one for one in file_tools(root, visibility, agent=agent)}
        if visibility == "all":
            self("list_files")  # which makes the room

    def __call__(self, verb: str, *, at: tuple[str, str] | None = None, **arguments: Any) -> str:
        session = at and Session.open(scope=at[0], conversation=at[1], store=MemoryStore())
        outcome = asyncio.run(run(self._tools[verb], arguments, session=session))
        assert str(self.root) not in str(outcome.content)  # the place on the disk is not told
        return str(outcome.content)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "root")


def test_tools_that_do_not_repeat_safely_are_not_run_again(tmp_path: Path) -> None:
    names = [one.name for one in file_tools(tmp_path) if not one.is_idempotent]
    assert names == ["edit_file", "remove_file"]


def test_files_are_written_read_edited_and_removed(desk: Desk) -> None:
    rows: list[tuple[str, dict[str, Any], str]] = [
        ("list_files", {}, "[0 found]"),
        ("write_file", {"path": "a/b.txt", "content": "one\ntwo\nthree\n"}, "wrote a/b.txt: 14 bytes"),
        ("write_file", {"path": "c.txt", "content": ""}, "wrote c.txt: 0 bytes"),
        ("list_files", {}, "a/\na/b.txt  14 bytes\nc.txt  0 bytes\n[3 found]"),
        ("list_files", {"path": "a/"}, "a/b.txt  14 bytes\n[1 found]"),
        ("read_file", {"path": "c.txt"}, "[c.txt is empty]"),
        ("read_file", {**B, "count": 1}, "     1\tone\n[lines 1 to 1 of 3; continue with first=2]"),
        ("read_file", {**B, "first": 4}, "OutOfRange: a/b.txt has 3 lines; there is no line 4"),
        ("edit_file", {**B, "old": "two", "new": "2"}, "edited a/b.txt: 1 place"),
        ("edit_file", {**B, "old": "e", "new": "E", "replace_all": True}, "edited a/b.txt: 3 places"),
        ("read_file", B, "     1\tonE\n     2\t2\n     3\tthrEE\n[lines 1 to 3 of 3]"),
        ("write_file", {"path": "c.txt", "content": "é"}, "replaced c.txt: 2 bytes"),
        ("remove_file", {"path": "c.txt"}, "removed c.txt"),
        ("list_files", {"pattern": "*.txt"}, "a/b.txt  12 bytes\n[1 found]"),
    ]
    for verb, arguments, answer in rows:
        assert desk(verb, **arguments) == answer
    assert stat.S_IMODE((desk.room / "a/b.txt").stat().st_mode) == 0o600


def test_what_cannot_be_done_is_told_and_changes_nothing(desk: Desk) -> None:
    (desk.room / "text.txt").write_bytes(b"one\r\ntwo one\r\n")
    (desk.room / "binary").write_bytes(b"a\x00b")
    (desk.room / "latin").write_bytes(b"a\ncaf\xe9")
    (desk.room / "full").mkdir()
    (desk.room / "full" / "x").write_text("x")
    rows: list[tuple[str, dict[str, Any], str]] = [
        ("read_file", {"path": "none.txt"}, "none.txt does not exist"),
        ("read_file", {"path": "full"}, "full is a folder, not a file"),
        ("read_file", {"path": "binary"}, "binary is binary (3 bytes), not text"),
        ("read_file", {"path": "latin"}, "latin is not UTF-8: byte 5 (0xe9), in line 2"),
        ("read_file", {"path": "text.txt", "first": 0}, "counted from 1"),
        ("read_file", {"path": "text.txt/x"}, "text.txt does not lead through folders"),
        ("write_file", {"path": "", "content": "x"}, "a path to a file is needed"),
        ("write_file", {"path": "full", "content": "x"}, "full is a folder"),
        ("edit_file", {"path": "text.txt", "old": "one", "new": "1"}, "2 times in text.txt"),
        ("edit_file", {"path": "text.txt", "old": "three", "new": "1"}, "not in text.txt"),
        ("edit_file", {"path": "text.txt", "old": "", "new": "1"}, "nothing would change"),
        ("remove_file", {"path": "full"}, "full cannot be used: Directory not empty"),
        ("search_files", {"text": ""}, "one line, and not empty"),
        ("list_files", {"pattern": ""}, "a pattern must have 1 to 500 characters"),
    ]
    before = {path: path.read_bytes() for path in desk.room.rglob("*") if path.is_file()}
    for verb, arguments, words in rows:
        assert words in desk(verb, **arguments)
    assert {path: path.read_bytes() for path in desk.room.rglob("*") if path.is_file()} == before
    assert desk("edit_file", path="text.txt", old="one\ntwo", new="1\n2") == "edited text.txt: 1 place"
    assert (desk.room / "text.txt").read_bytes() == b"1\r\n2 one\r\n"


def test_files_are_found_and_searched(desk: Desk) -> None:
    for name in ("plan.md", "notes/a.md", "notes/2026/b.md", "notes/2026/c.txt"):
        desk("write_file", path=name, content=f"Total of {name}\nnothing\n")
    (desk.room / "bin").write_bytes(b"Total\x00")
    finds: list[tuple[str, str, list[str]]] = [
        ("*.md", "", ["notes/2026/b.md", "notes/a.md", "plan.md"]),
        ("notes/*.md", "", ["notes/2026/b.md", "notes/a.md"]),
        ("notes/**/?.md", "", ["notes/2026/b.md", "notes/a.md"]),
        ("2026", "notes", ["notes/2026/"]),
        ("../*", "", []),
        ("[bc].*", "notes/2026", ["notes/2026/b.md", "notes/2026/c.txt"]),
    ]
    for pattern, path, found in finds:
        listed = desk("list_files", pattern=pattern, path=path).split("\n")[:-1]
        assert [row.partition("  ")[0] for row in listed] == found
    assert desk("search_files", text="Total", path="notes/2026", files="*.txt") == (
        "notes/2026/c.txt:1: Total of notes/2026/c.txt\n[1 matching line]"
    )
    assert desk("search_files", text="total").startswith("[0 matching lines; files skipped")
    assert desk("search_files", text="total", ignore_case=True).count("Total of") == 4
    assert desk("search_files", text="nothing", path="plan.md") == "plan.md:2: nothing\n[1 matching line]"
    desk("write_file", path="long.txt", content=f"{'x' * 900}needle{'y' * 900}")
    assert re.match(r"long.txt:1: …x+needley+…\n\[1 matching line", desk("search_files", text="needle"))
    slow = "*a" * 200
    assert desk("list_files", pattern=f"{slow}b") == "[0 found]"


def test_who_shares_files(tmp_path: Path) -> None:
    everybody = [("a", "s", "c"), ("a", "s", "d"), ("a", "t", "c"), ("b", "s", "c")]
    kinds: dict[Visibility, int] = {"all": 4, "agent": 3, "scope": 2, "conversation": 1}
    for kind, shared in kinds.items():
        Desk(tmp_path, kind, agent="a")("write_file", path=f"{kind}.txt", content="x", at=("s", "c"))
        for number, (agent, scope, conversation) in enumerate(everybody):
            seen = Desk(tmp_path, kind, agent=agent)("list_files", at=(scope, conversation))
            assert seen == (f"{kind}.txt  1 byte\n[1 found]" if number < shared else "[0 found]"), kind
    for wrong in ("agent", "nobody"):
        with pytest.raises(InvalidValue):
            Desk(tmp_path, wrong)  # type: ignore[arg-type]
    assert "need a session" in Desk(tmp_path, "scope")("list_files")


def test_addresses_that_look_alike_stay_apart(tmp_path: Path) -> None:
    places = [("a/b", "c"), ("a", "b/c"), ("..", ".."), ("", ""), ("a%2fb", "c"), ("A/B", "c")]
    places.append(("x" * 400, ""))
    desk = Desk(tmp_path / "root", "conversation")
    for one, other in combinations(places, 2):
        assert desk("write_file", path="mine.txt", content="x", at=one).startswith("wrote")
        assert "mine.txt" not in desk("list_files", at=other)
        desk("remove_file", path="mine.txt", at=one)
    assert [path.name for path in tmp_path.iterdir()] == ["root"]
    folders = [path.name.casefold() for path in (tmp_path / "root" / "conversation" / "%").iterdir()]
    assert len(set(folders)) == len(folders) and all(name.isascii() for name in folders)


class World(Desk):
    """A room full of traps, and files outside that no tool may touch."""

    def __init__(self, place: Path) -> None:
        self.outside = place / "outside"
        (self.outside / "folder").mkdir(parents=True)
        self.secret = self.outside / "secret.txt"
        self.secret.write_text(SECRET)
        self.single = self.outside / "folder" / "inner.txt"
        """A file that no hard link leads to."""
        self.single.write_text(SECRET)
        super().__init__(place / "root")
        (self.room / "inside" / "deep").mkdir(parents=True)
        for name in ("plain.txt", "inside/plain.txt"):
            (self.room / name).write_text("a plain file\n")
        links: dict[str, str | Path] = {
            "file-link": self.secret,
            "dir-link": self.outside,
            "up-link": "../../outside",
            "root-link": "/",
            "chain": "dir-link",
            "loop": "loop",
            "inner-link": "inside",
            "dangling": self.outside / "made.txt",
            "inside/dir-link": self.outside,
        }
        for name, target in links.items():
            (self.room / name).symlink_to(target)
        os.link(self.secret, self.room / "hard")
        os.mkfifo(self.room / "fifo")
        with suppress(PermissionError):
            os.mknod(self.room / "zero", stat.S_IFCHR | 0o600, os.makedev(1, 5))
        self.before = self.seen()

    def seen(self) -> dict[str, tuple[object, ...]]:
        paths = sorted(self.outside.rglob("*"))
        return {
            str(one): (one.lstat().st_ino, one.lstat().st_mtime_ns, one.is_file() and one.read_bytes())
            for one in paths
        }

    def check(self, answer: str, about: object = None) -> None:
        """Nothing outside was read, changed or made."""
        assert SECRET not in answer, about
        assert self.seen() == self.before, about
        for path in self.room.rglob("*"):
            one = path.lstat()
            if stat.S_ISREG(one.st_mode) and one.st_nlink == 1:
                assert SECRET not in path.read_text(), about


def hostile_paths(world: World) -> list[str]:
    there = str(world.secret)
    up = ["../../outside/secret.txt", "inside/../../../outside/secret.txt", "..", "../"]
    absolute = [there, f"//{there}", f" {there}", f"/proc/self/root{there}", "/dev/zero", "/", "~/secret.txt"]
    files = ["file-link", "file-link/", "loop", "dangling", "hard", "fifo", "zero", "chain/secret.txt"]
    folders = ["dir-link", "dir-link/secret.txt", "dir-link/../outside", "dir-link/made.txt"]
    chains = ["up-link", f"root-link{there}", "chain"]
    below = ["inside/dir-link/secret.txt", "loop/x", "fifo/x", "inner-link/plain.txt", "dir-link./secret.txt"]
    odd = ["", ".", ".. /.. /outside", "..\n/outside", "..\\..\\outside", "\u2025/outside", "%2e%2e/outside"]
    long = ["a" * 300, "\u00e9" * 200, "a/" * 3_000 + "x", "a/" * 100 + "x", "../../outside/secret.txt\x00"]
    return [*up, *absolute, *files, *folders, *chains, *below, *odd, *long]


ATTEMPTS: dict[str, Callable[[Desk, str], str]] = {
    "list": lambda desk, path: desk("list_files", path=path),
    "read": lambda desk, path: desk("read_file", path=path),
    "list by pattern": lambda desk, path: desk("list_files", pattern=path),
    "search": lambda desk, path: desk("search_files", text="stays", path=path),
    "search by pattern": lambda desk, path: desk("search_files", text="stays", files=path),
    "write": lambda desk, path: desk("write_file", path=path, content="overwritten"),
    "write below": lambda desk, path: desk("write_file", path=f"{path}/new/made.txt", content="made"),
    "edit": lambda desk, path: desk("edit_file", path=path, old="secret", new="known"),
    "remove": lambda desk, path: desk("remove_file", path=path),
}


@pytest.mark.parametrize("way", ATTEMPTS)
def test_no_path_leads_outside(tmp_path: Path, way: str) -> None:
    number, world = 0, World(tmp_path / "0")
    for path in hostile_paths(world):
        before = sorted(str(one) for one in world.room.rglob("*"))
        world.check(ATTEMPTS[way](world, path), path)
        if sorted(str(one) for one in world.room.rglob("*")) != before:  # some names are harmless here
            number += 1
            world = World(tmp_path / str(number))


def test_links_hard_links_pipes_and_devices_are_refused(tmp_path: Path) -> None:
    world = World(tmp_path)
    told = {"file-link": "is a link", "hard": "second name", "fifo": "a pipe", "zero": "a device"}
    for way, name in product(("read", "write", "edit"), told):
        if (world.room / name).exists() or name != "zero":
            assert told[name] in ATTEMPTS[way](world, name), (way, name)
    listed = world("list_files")
    assert "file-link (a link: never followed)" in listed and "fifo (not a file)" in listed
    assert "removed file-link" in world("remove_file", path="file-link")
    world.check(listed)
    (world.root / "all").rename(world.root / "other")
    (world.root / "all").symlink_to(world.outside)
    assert "the folder of the file tools" in world("list_files")


@contextmanager
def swapping(call: str, name: str, act: Callable[[], None]) -> Generator[None]:
    """Another process acts right before the first time that a name is used."""
    real, waiting = getattr(os, call), [name]

    def watched(path: Any, *rest: Any, **named: Any) -> Any:
        if path in waiting:
            waiting.clear()
            act()
        return real(path, *rest, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, call, watched)
        yield
    assert not waiting, "the system was never asked for this name"


def put(world: World, make: Callable[[Path], object]) -> None:
    make(world.room / "other")
    os.rename(world.room / "other", world.room / "plain.txt")


def link_folder(world: World) -> None:
    (world.room / "inside").rename(world.room / "elsewhere")
    (world.room / "inside").symlink_to(world.outside / "folder")


IN_FILE = [(way, "plain.txt") for way in ("read", "edit", "search")]
IN_FOLDER = [("list", ""), ("search", ""), ("list", "inside"), ("write", "inside/inner.txt")]
TRAPS: dict[str, tuple[str, list[tuple[str, str]], Callable[[World], None]]] = {
    "link": ("plain.txt", IN_FILE, lambda world: put(world, lambda path: path.symlink_to(world.single))),
    "hard link": ("plain.txt", IN_FILE, lambda world: put(world, partial(os.link, world.single))),
    "pipe": ("plain.txt", IN_FILE, lambda world: put(world, os.mkfifo)),
    "linked folder": ("inside", IN_FOLDER, link_folder),
}


@pytest.mark.parametrize("trap", TRAPS)
def test_a_trap_that_is_set_between_the_look_and_the_opening(tmp_path: Path, trap: str) -> None:
    name, attempts, set_trap = TRAPS[trap]
    for way, path in attempts:
        world = World(tmp_path / way / path)
        with swapping("open", name, partial(set_trap, world)):
            world.check(ATTEMPTS[way](world, path), (way, path))


def test_a_link_that_is_set_before_the_rename_is_replaced(tmp_path: Path) -> None:
    world = World(tmp_path)
    real = os.rename

    def late(source: Any, target: Any, **named: Any) -> None:
        (world.room / "plain.txt").unlink()
        (world.room / "plain.txt").symlink_to(world.single)
        real(source, target, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "rename", late)
        world.check(world("write_file", path="plain.txt", content="new"))
    assert (world.room / "plain.txt").read_text() == "new" and not (world.room / "plain.txt").is_symlink()
    assert not list(world.room.glob(".quire-*"))


def test_edits_side_by_side_lose_nothing(tmp_path: Path) -> None:
    desks = [Desk(tmp_path) for _ in range(2)]
    desks[0]("write_file", path="list.txt", content="end\n")

    def add(desk: Desk, mark: str) -> None:
        for number in range(10):
            desk("edit_file", path="list.txt", old="end", new=f"{mark}{number}\nend")

    threads = [Thread(target=add, args=(desk, mark)) for desk, mark in zip(desks, "ab", strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len((tmp_path / "all" / "list.txt").read_text().split()) == 21


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    world = World(tmp_path)
    before = len(os.listdir("/proc/self/fd"))
    for way in ATTEMPTS.values():
        for path in ("plain.txt", "file-link", "inside", "hard", "none/x"):
            way(world, path)
    assert len(os.listdir("/proc/self/fd")) <= before + 1


def test_in_a_small_window_a_file_is_read_in_smaller_pages(tmp_path: Path) -> None:
    text = "".join(f"line {number} of the report, with a few words more\n" for number in range(400))
    Desk(tmp_path)("write_file", path="long.txt", content=text)
    seen: dict[int, str] = {}

    def read_on(sent: Rendered) -> Any:
        last = sent.payload["messages"][-1]
        told = last["content"] if last["role"] == "tool" else "continue with first=1]"
        seen.update((int(n), line) for n, line in re.findall(r"^ *(\d+)\t(.*)$", told, re.MULTILINE))
        going_on = re.search(r"continue with first=(\d+)\]\Z", told)
        arguments = {"path": "long.txt", "first": int(going_on[1])} if going_on else {}
        return ToolCall(f"c{len(seen)}", "read_file", json.dumps(arguments)) if arguments else "Done."

    template = Template(Instructions("x"), History(), budget=Budget(window=8_192, reserve=1_024))
    session = Session.open(store="memory:")
    agent = Agent(session, template=template, model=Scripted(read_on), tools=file_tools(tmp_path, "all"))
    assert asyncio.run(agent.ask("Look.")).text == "Done."
    assert len(session.pool) == 0 and "".join(f"{seen[number]}\n" for number in sorted(seen)) == text


def test_limits_are_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    (desk.room / "many").mkdir()
    for number in range(501):
        (desk.room / "many" / f"{number:03}").write_text("needle\n")
    assert "more than the 500 shown: narrow" in desk("list_files")
    assert "more than the 200 shown: narrow" in desk("search_files", text="needle")
    desk("write_file", path="wide.txt", content="x" * 3_000)
    assert "… [cut: 3,000 characters]" in desk("read_file", path="wide.txt")
    desk("write_file", path="long.txt", content="some words\n" * 4_000)
    page = desk("read_file", path="long.txt", count=4_000)
    assert re.search(r"\[lines 1 to [\d,]+ of 4,000; continue with first=", page) and len(page) < 20_000
    assert "at most 10,000,000 fit" in desk("write_file", path="large", content="é" * 5_000_001)
    (desk.room / "large").write_text("x" * 10_000_001)
    assert "large has more than 10,000,000 bytes" in desk("read_file", path="large")
    monkeypatch.setattr("quire.agent.builtin.files_paths._MAX_ENTRIES", 400)
    assert "only 400 files and folders were visited" in desk("list_files", pattern="none")
