"""Listing, reading, finding and searching files, within limits."""

import os
from pathlib import Path

import pytest

from quire.agent.builtin.files.limits import MAX_DEPTH, FileLimits
from quire.agent.builtin.files.looking import Looking
from quire.agent.builtin.files.results import Results
from quire.agent.builtin.files.rooms import Rooms
from quire.agent.builtin.files.searching import Stopped
from quire.agent.builtin.files.walking import Walk
from quire.errors import InvalidValue, OutOfRange, QuireError, TooLarge


class Desk:
    """A room and its looking tools."""

    def __init__(self, place: Path, limits: FileLimits) -> None:
        self.room = place / "all"
        self.room.mkdir()
        self.looking = Looking(Rooms(place, "all"), limits)

    def put(self, name: str, content: str | bytes) -> None:
        path = self.room / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path, FileLimits(seconds=60))


@pytest.fixture
def small(tmp_path: Path) -> Desk:
    """A desk with narrow limits."""
    return Desk(tmp_path, FileLimits(100, 100, 20, 5, 3, 20, 60, 60))


def test_a_folder_is_listed_by_name(desk: Desk) -> None:
    desk.put("b.txt", "12345")
    desk.put("a/one.txt", "")
    (desk.room / "c").symlink_to("b.txt")
    assert desk.looking.list_files() == "a/\nb.txt  5 bytes\nc (a link: never followed)\n[3 in the folder]"
    assert desk.looking.list_files("./a//") == "one.txt  0 bytes\n[1 in a]"


def test_a_new_room_is_empty(tmp_path: Path) -> None:
    assert Looking(Rooms(tmp_path / "new", "all"), FileLimits()).list_files() == "[the folder is empty]"


def test_long_lists_are_cut_in_words(small: Desk) -> None:
    for number in range(8):
        small.put(f"{number}.txt", "")
    assert small.looking.list_files().endswith(
        "4.txt  0 bytes\n[8 in the folder; 3 more are not shown: look with find_files]"
    )
    assert small.looking.find_files("*.txt").endswith(
        "[more than 5 found; only the first 5 are shown: narrow the pattern]"
    )
    for number in range(8, 30):
        small.put(f"{number}.txt", "")
    assert small.looking.list_files().endswith("[the folder holds more than 20: look with find_files]")
    assert "only 20 files and folders were looked at" in small.looking.find_files("nothing")


def test_names_that_cannot_be_sent_are_escaped(desk: Desk) -> None:
    desk.put("line\nbreak.txt", "found")
    with open(os.fsencode(desk.room) + b"/\xff.txt", "wb") as file:
        file.write(b"found")
    for seen in (desk.looking.list_files(), desk.looking.find_files("*"), desk.looking.search_files("found")):
        assert "line\\nbreak.txt" in seen
        assert "\\udcff.txt" in seen
        seen.encode()


@pytest.mark.parametrize(
    ("first", "count", "seen"),
    [
        (1, 1000, "     1\tone\n     2\t\n     3\tthree\n[lines 1 to 3 of 3]"),
        (1, 1, "     1\tone\n[lines 1 to 1 of 3; go on with first=2]"),
        (2, 2, "     2\t\n     3\tthree\n[lines 2 to 3 of 3]"),
        (3, 9, "     3\tthree\n[lines 3 to 3 of 3]"),
    ],
)
@pytest.mark.parametrize(
    "content", ["one\n\nthree\n", "one\n\nthree", "one\r\n\r\nthree\r\n", "\ufeffone\n\nthree"]
)
def test_lines_are_read_by_number(desk: Desk, content: str, first: int, count: int, seen: str) -> None:
    desk.put("a.txt", content)
    assert desk.looking.read_file("a.txt", first, count) == seen


def test_what_is_too_long_to_show_says_how_to_go_on(small: Desk) -> None:
    small.put("a.txt", "x" * 30 + "\n" + "y" * 15 + "\nlast\n")
    assert small.looking.read_file("a.txt") == (
        f"     1\t{'x' * 20}… [cut: 30 characters]\n[lines 1 to 1 of 3; go on with first=2]"
    )
    assert small.looking.read_file("a.txt", 2).endswith("     3\tlast\n[lines 2 to 3 of 3]")


def test_lines_that_are_not_there(desk: Desk) -> None:
    desk.put("a.txt", "one\n")
    desk.put("empty.txt", "")
    with pytest.raises(OutOfRange, match=r"a\.txt has 1 line; there is no line 2"):
        desk.looking.read_file("a.txt", 2)
    for first, count in ((0, 1), (-1, 1), (1, 0)):
        with pytest.raises(OutOfRange, match="counted from 1"):
            desk.looking.read_file("a.txt", first, count)
    assert desk.looking.read_file("empty.txt") == "[empty.txt is empty]"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"GIF89a\x00\x01", r"is binary \(8 bytes\)"),
        (b"fine\nb\xe4d", r"is not UTF-8: byte 6 \(0xe4\), in line 2"),
        ("text".encode("utf-16"), "is text in UTF-16"),
        (b"cut \xe2\x82", "is not UTF-8: byte 4"),
    ],
)
def test_what_is_no_text_is_told(desk: Desk, content: bytes, words: str) -> None:
    desk.put("a.bin", content)
    with pytest.raises(InvalidValue, match=words):
        desk.looking.read_file("a.bin")
    assert desk.looking.search_files(".").endswith(
        "[0 matching lines; files left out (no text, too large, or closed to these tools): 1]"
    )


def test_a_huge_file_is_not_read(desk: Desk) -> None:
    desk.put("huge.txt", "")
    os.truncate(desk.room / "huge.txt", 1 << 40)
    with pytest.raises(TooLarge, match="has 1,099,511,627,776 bytes; 10,000,000 are the most"):
        desk.looking.read_file("huge.txt")
    assert "(no text, too large, or closed to these tools): 1" in desk.looking.search_files(".")


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("*.md", "", {"a.md", "docs/b.md", "docs/new/c.md"}),
        ("docs/*.md", "", {"docs/b.md"}),
        ("docs/**/*.md", "", {"docs/b.md", "docs/new/c.md"}),
        ("**/new/**", "", {"docs/new/", "docs/new/c.md"}),
        ("*.md", "docs", {"docs/b.md", "docs/new/c.md"}),
        ("new/*", "docs", {"docs/new/c.md"}),
        ("[ab].m?", "", {"a.md", "docs/b.md"}),
        ("**", "docs/new", {"docs/new/c.md"}),
        ("DOCS/*", "", set[str]()),
        ("docs/../a.m*", "docs", None),
        ("/a.md", "", None),
        ("", "", None),
        ("x" * 501, "", None),
    ],
)
def test_files_are_found_by_pattern(desk: Desk, pattern: str, path: str, found: set[str] | None) -> None:
    for name in ("a.md", "docs/b.md", "docs/new/c.md", "docs/d.txt"):
        desk.put(name, "")
    if found is None:
        with pytest.raises(InvalidValue):
            desk.looking.find_files(pattern, path)
    else:
        *names, last = desk.looking.find_files(pattern, path).split("\n")
        assert (set(names), last) == (found, f"[{len(found)} found]")


def test_a_pattern_takes_no_time_worth_speaking_of(desk: Desk) -> None:
    desk.put("/".join(["a" * 200] * 10), "")
    for pattern in ("*a" * 240 + "b", "/".join(["**"] * 160) + "/x", "**/*a*a*a*a*a*b/" * 30 + "x"):
        assert desk.looking.find_files(pattern) == "[0 found]"


def test_trees_that_are_too_deep_are_looked_at_as_far_as_one_can_go(desk: Desk) -> None:
    folder = os.open(desk.room, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d", dir_fd=folder)
        below = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(folder)
    found = desk.looking.find_files("d")
    assert found.count("\n") == MAX_DEPTH
    assert f"folders not looked into (closed, or more than {MAX_DEPTH} deep): 1" in found


def test_lines_are_searched_by_expression(desk: Desk) -> None:
    desk.put("a.txt", "one two\r\nTwo\n\nthree\n")
    desk.put("b/c.md", "two")
    looking = desk.looking
    assert looking.search_files("two") == "a.txt:1: one two\nb/c.md:1: two\n[2 matching lines]"
    assert (
        looking.search_files("^two$", ignore_case=True) == "a.txt:2: Two\nb/c.md:1: two\n[2 matching lines]"
    )
    assert looking.search_files("two", files="*.md") == "b/c.md:1: two\n[1 matching line]"
    assert looking.search_files("two", "b") == "b/c.md:1: two\n[1 matching line]"
    assert looking.search_files("two", "b/c.md") == "b/c.md:1: two\n[1 matching line]"
    assert looking.search_files("^$") == "a.txt:3: \n[1 matching line]"
    with pytest.raises(InvalidValue, match="the expression is wrong: missing"):
        looking.search_files("(two")
    with pytest.raises(InvalidValue, match="nowhere does not exist"):
        looking.search_files("two", "nowhere")
    with pytest.raises(TooLarge, match="the expression has 2,000 characters"):
        looking.search_files("x" * 2_000)


def test_a_long_line_is_shown_around_what_matches(desk: Desk) -> None:
    desk.put("a.txt", "x" * 5_000 + "here" + "y" * 5_000)
    row = desk.looking.search_files("here").split("\n")[0]
    assert "here" in row
    assert len(row) < 400


def test_many_matches_are_cut_in_words(small: Desk) -> None:
    small.put("a.txt", "x\n" * 10)
    assert small.looking.search_files("x").endswith(
        "a.txt:3: x\n[3 matching lines; there are more: narrow the expression, the path or the files]"
    )
    small.put("a.txt", "x\n" * 3)
    assert small.looking.search_files("x").endswith("[3 matching lines]")
    small.put("a.txt", "x" * 19 + "\n" + "x" * 19 + "\n" + "x" * 19)
    assert "[2 matching lines; there are more" in small.looking.search_files("x")


@pytest.mark.parametrize("expression", ["(a+)+$", "(a|aa)+$", "(.*a){25}$", r"^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_an_expression_that_would_never_end_is_stopped(tmp_path: Path, expression: str) -> None:
    desk = Desk(tmp_path, FileLimits(seconds=0.5))
    desk.put("b.txt", "a" * 5_000 + "!")
    with pytest.raises(InvalidValue, match=r"the search was stopped \(over 0.5 s, or out of memory\)"):
        desk.looking.search_files(expression)


def test_an_expression_that_would_take_all_memory_is_stopped(desk: Desk) -> None:
    desk.put("a.txt", "a" * 9_000_000)
    with pytest.raises(InvalidValue, match="the search was stopped"):
        desk.looking.search_files("(?:(a)|b)*c")


def test_what_was_found_before_a_stop_is_shown() -> None:
    results, walk = Results(FileLimits(seconds=60)), Walk(FileLimits())
    with results.search("a", ignore_case=False) as search:
        results.take("a.txt", search.lines(b"aaa", results.room_left))
        raise Stopped("as if it had been too long")
    assert results.told(walk).startswith("a.txt:1: aaa\n[1 matching line; the search was stopped")


def test_without_a_python_to_run_it_in_a_search_is_refused(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    with pytest.raises(QuireError, match="no search can be started here") as refused:
        desk.looking.search_files("x")
    assert "nowhere" not in str(refused.value)
    monkeypatch.setattr("sys.executable", "")
    with pytest.raises(QuireError, match="built without the Python"):
        desk.looking.search_files("x")
