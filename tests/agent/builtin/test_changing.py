"""Writing, editing, copying, moving and removing files."""

import fcntl
import os
import stat
from pathlib import Path

import pytest

from quire.agent.builtin.files.changing import Changing
from quire.agent.builtin.files.limits import FileLimits
from quire.agent.builtin.files.rooms import Rooms
from quire.errors import InvalidValue, QuireError, TooLarge, WrongType


class Desk:
    """A room and its changing tools."""

    def __init__(self, place: Path, limits: FileLimits) -> None:
        self.room = place / "all"
        self.room.mkdir()
        self.changing = Changing(Rooms(place, "all"), limits)

    def put(self, name: str, content: str | bytes = "text") -> None:
        path = self.room / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def text(self, name: str) -> str:
        return (self.room / name).read_bytes().decode()

    def names(self) -> list[str]:
        return sorted(str(path.relative_to(self.room)) for path in self.room.rglob("*"))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path, FileLimits())


@pytest.fixture
def small(tmp_path: Path) -> Desk:
    """A desk with narrow limits."""
    return Desk(tmp_path, FileLimits(text_bytes=10, copy_bytes=15, entries=5, seconds=60))


def test_a_file_is_written_and_replaced(desk: Desk) -> None:
    assert desk.changing.write_file("a/b/c.txt", "h\u00e9\n") == "wrote a/b/c.txt: 4 bytes"
    assert desk.changing.write_file("a/b/c.txt", "") == "replaced a/b/c.txt: 0 bytes"
    assert desk.text("a/b/c.txt") == ""
    assert desk.names() == ["a", "a/b", "a/b/c.txt"]


def test_permissions_outlive_a_replacement_but_for_those_that_give_rights(desk: Desk) -> None:
    desk.put("run.sh")
    os.chmod(desk.room / "run.sh", 0o4755)
    desk.changing.write_file("run.sh", "new")
    assert stat.S_IMODE((desk.room / "run.sh").stat().st_mode) == 0o755


def test_what_cannot_be_written_changes_nothing(small: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    small.put("a.txt")
    with pytest.raises(TooLarge, match=r"the text for a\.txt has 11 bytes; 10 are the most"):
        small.changing.write_file("a.txt", "x" * 11)
    with pytest.raises(InvalidValue, match="half of a character at 1"):
        small.changing.write_file("a.txt", "x\ud800")
    with pytest.raises(InvalidValue, match=r"a\.txt does not lead through folders alone"):
        small.changing.write_file("a.txt/b", "x")
    with pytest.raises(InvalidValue, match="a path to a file is needed"):
        small.changing.write_file("", "x")
    with pytest.raises(WrongType, match="a path is a text, not int"):
        small.changing.write_file(1, "x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    def full(_: int) -> None:
        raise OSError(28, "No space left on device", "/secret/place")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InvalidValue) as refused:
        small.changing.write_file("a.txt", "new")
    assert str(refused.value) == "a.txt cannot be written: there is no space left"
    assert (small.text("a.txt"), small.names()) == ("text", ["a.txt"])


def test_a_piece_is_replaced_where_it_is_once(desk: Desk) -> None:
    desk.put("a.txt", "one two one\n")
    assert desk.changing.edit_file("a.txt", "two", "2") == "edited a.txt: 1 place"
    with pytest.raises(InvalidValue, match=r"the old text is 2 times in a\.txt: take in more around it"):
        desk.changing.edit_file("a.txt", "one", "1")
    assert desk.changing.edit_file("a.txt", "one", "1", replace_all=True) == "edited a.txt: 2 places"
    assert desk.text("a.txt") == "1 2 1\n"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("TWO", "2", r"the old text is not in a\.txt"),
        ("", "2", "the old text is empty"),
        ("two", "two", "are the same"),
        ("two", "x" * 10_000_001, "10,000,000 are the most"),
    ],
)
def test_an_edit_that_does_not_fit_changes_nothing(desk: Desk, old: str, new: str, words: str) -> None:
    desk.put("a.txt", "one two\n")
    with pytest.raises(InvalidValue, match=words):
        desk.changing.edit_file("a.txt", old, new)
    assert desk.text("a.txt") == "one two\n"


def test_an_edit_keeps_the_ends_of_lines_and_the_mark_at_the_beginning(desk: Desk) -> None:
    desk.put("a.txt", "\ufeffone\r\ntwo\r\nthree\r\n")
    desk.changing.edit_file("a.txt", "one\ntwo", "1\n2")
    assert desk.text("a.txt") == "\ufeff1\r\n2\r\nthree\r\n"


def test_what_is_no_text_is_not_edited(desk: Desk) -> None:
    desk.put("a.bin", b"\x00one")
    with pytest.raises(InvalidValue, match="is binary"):
        desk.changing.edit_file("a.bin", "one", "two")
    with pytest.raises(InvalidValue, match=r"nothing\.txt does not exist"):
        desk.changing.edit_file("nothing.txt", "one", "two")


def test_files_and_folders_are_copied(desk: Desk) -> None:
    desk.put("a/one.bin", b"\x00\xff")
    desk.put("a/b/two.txt", "two")
    (desk.room / "a" / "empty").mkdir()
    assert (
        desk.changing.copy_file("a/one.bin", "new/one.bin")
        == "copied a/one.bin to new/one.bin: 1 file, 2 bytes"
    )
    assert desk.changing.copy_file("a", "c") == "copied a to c: 2 files, 5 bytes"
    assert (desk.room / "c" / "one.bin").read_bytes() == b"\x00\xff"
    assert [name for name in desk.names() if name.startswith("c")] == [
        "c",
        "c/b",
        "c/b/two.txt",
        "c/empty",
        "c/one.bin",
    ]


@pytest.mark.parametrize("verb", ["copy_file", "move_file"])
def test_nothing_is_put_over_what_is_there_unasked(desk: Desk, verb: str) -> None:
    desk.put("a.txt", "new")
    desk.put("b.txt", "old")
    desk.put("folder/x.txt")
    act = getattr(desk.changing, verb)
    for source, target, overwrite, words in [
        ("a.txt", "b.txt", False, r"b\.txt exists already: it is replaced with overwrite only"),
        ("a.txt", "folder", True, "folder is a folder, not a file"),
        ("folder", "b.txt", False, r"b\.txt exists already"),
        ("folder", "folder/new", True, "cannot be put onto or into itself"),
        ("a.txt", "./a.txt", True, "cannot be put onto or into itself"),
        ("none.txt", "c.txt", True, r"none\.txt does not exist"),
        ("a.txt", "b.txt/c", True, r"b\.txt does not lead through folders alone"),
    ]:
        with pytest.raises(QuireError, match=words):
            act(source, target, overwrite=overwrite)
    assert (desk.text("a.txt"), desk.text("b.txt")) == ("new", "old")
    act("a.txt", "b.txt", overwrite=True)
    assert desk.text("b.txt") == "new"
    assert (desk.room / "a.txt").exists() == (verb == "copy_file")


def test_copies_within_limits(small: Desk) -> None:
    small.put("large.bin", b"x" * 16)
    with pytest.raises(TooLarge, match="more than 15 bytes are not copied at once"):
        small.changing.copy_file("large.bin", "copy.bin")
    small.put("two/a", b"x" * 10)
    small.put("two/b", b"x" * 10)
    with pytest.raises(TooLarge, match="more than 15 bytes are not copied at once"):
        small.changing.copy_file("two", "copy")
    for number in range(6):
        small.put(f"many/{number}", b"")
    with pytest.raises(TooLarge, match="many is not copied in one go: only 5 files"):
        small.changing.copy_file("many", "copy")
    assert not [name for name in small.names() if "copy" in name or "quire" in name]


def test_files_and_folders_are_moved(desk: Desk) -> None:
    desk.put("a/one.txt")
    assert desk.changing.move_file("a", "new/b") == "moved a to new/b"
    assert desk.changing.move_file("new/b/one.txt", "one.txt") == "moved new/b/one.txt to one.txt"
    assert desk.names() == ["new", "new/b", "one.txt"]


def test_files_and_folders_are_removed(desk: Desk) -> None:
    for name in ("a.txt", "full/b/c.txt", "full/d.txt"):
        desk.put(name)
    (desk.room / "empty").mkdir()
    assert desk.changing.remove_file("a.txt") == "removed a.txt"
    assert desk.changing.remove_file("empty") == "removed empty"
    with pytest.raises(InvalidValue, match="full is a folder that is not empty"):
        desk.changing.remove_file("full")
    assert desk.changing.remove_file("full", recursive=True) == "removed full and 3 in it"
    assert desk.names() == []
    with pytest.raises(InvalidValue, match="full does not exist"):
        desk.changing.remove_file("full", recursive=True)
    with pytest.raises(InvalidValue, match="a path to a file is needed"):
        desk.changing.remove_file("", recursive=True)


def test_what_is_too_much_to_remove_stays_whole(small: Desk) -> None:
    for number in range(6):
        small.put(f"many/{number}")
    with pytest.raises(TooLarge, match="many is not removed in one go: only 5 files and folders"):
        small.changing.remove_file("many", recursive=True)
    assert len(small.names()) == 7


def test_a_change_does_not_wait_for_ever(tmp_path: Path) -> None:
    desk = Desk(tmp_path, FileLimits(seconds=0.05))
    room = os.open(desk.room, os.O_RDONLY)
    try:
        fcntl.flock(room, fcntl.LOCK_EX)
        with pytest.raises(QuireError, match=r"others have been changing these files for 0\.05 s"):
            desk.changing.write_file("a.txt", "x")
    finally:
        os.close(room)
    assert desk.changing.write_file("a.txt", "x") == "wrote a.txt: 1 byte"


def test_no_descriptor_is_left_open(desk: Desk) -> None:
    before = os.listdir("/proc/self/fd")
    for _ in range(5):
        desk.changing.write_file("a/b.txt", "one")
        desk.changing.copy_file("a", "c")
        desk.changing.remove_file("c", recursive=True)
        for path in ("a/b.txt/x", "../x", "a/none"):
            with pytest.raises(QuireError):
                desk.changing.edit_file(path, "one", "two")
    assert len(os.listdir("/proc/self/fd")) == len(before)
