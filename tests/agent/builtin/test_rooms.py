"""Whose files are where: names are anybody's text, and rooms stay apart."""

import unicodedata
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st

from quire.agent.builtin.files.changing import Changing
from quire.agent.builtin.files.limits import FileLimits
from quire.agent.builtin.files.looking import Looking
from quire.agent.builtin.files.rooms import Rooms, Visibility, folder_name
from quire.errors import InvalidLimit, InvalidValue, QuireError, WrongType
from quire.session import Session
from quire.stores import MemoryStore

NAMES = [
    *(
        "",
        ".",
        "..",
        "/",
        "//",
        "\\",
        "%",
        "%%",
        "a/b",
        "a",
        "A",
        "ana",
        "Ana",
        "ANA",
        "an a",
        "ana ",
        "ana.",
    ),
    *(
        "../ana",
        "\x00",
        "ana\x00",
        "a" * 200,
        "a" * 201,
        "a" * 202,
        "a" * 100 + "%%",
        "con",
        "~",
        "-",
        "_",
        "*",
    ),
    *(
        "\u00e9",
        "e\u0301",
        "\u0430na",
        "\u212b",
        "\u00c5",
        "A\u030a",
        "\u0131",
        "\u017f",
        "s",
        "\ufb01",
        "fi",
    ),
    *(
        "\udc80",
        "\U0001f600",
        "x" * 100_000,
        "x" * 100_001,
        "all",
        "%2e",
        "%2E",
        "\u2024\u2024",
        "\uff0e\uff0e",
    ),
]


def on_any_disk(name: str) -> str:
    """What a name is to a file system that takes no notice of case, or of how a character is written."""
    return unicodedata.normalize("NFKC", name).casefold().rstrip(". ")


def test_two_names_never_share_a_folder() -> None:
    for one, other in combinations(NAMES, 2):
        assert on_any_disk(folder_name(one)) != on_any_disk(folder_name(other)), (one[:20], other[:20])


@given(st.text(st.characters()), st.text(st.characters()))
@example("Ana", "ana")
def test_folders_are_as_different_as_names(one: str, other: str) -> None:
    assert (on_any_disk(folder_name(one)) == on_any_disk(folder_name(other))) == (one == other)


@given(st.text(st.characters()) | st.sampled_from(NAMES))
def test_a_folder_leads_nowhere_else(name: str) -> None:
    folder = folder_name(name)
    assert 0 < len(folder) < 255
    assert set(folder) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_%")
    assert folder_name("plain-name_1") == "plain-name_1"


def session(scope: str, conversation: str) -> Session:
    return Session.open(scope=scope, conversation=conversation, store=MemoryStore())


def room(root: Path, visibility: Visibility, agent: str = "") -> tuple[Looking, Changing]:
    rooms = Rooms(root, visibility, agent)
    return Looking(rooms, FileLimits()), Changing(rooms, FileLimits())


@pytest.mark.parametrize(
    ("visibility", "shared"),
    [
        ("all", {("a", "s", "c"), ("a", "s", "d"), ("a", "t", "c"), ("b", "s", "c")}),
        ("agent", {("a", "s", "c"), ("a", "s", "d"), ("a", "t", "c")}),
        ("scope", {("a", "s", "c"), ("a", "s", "d")}),
        ("conversation", {("a", "s", "c")}),
    ],
)
def test_who_sees_what(tmp_path: Path, visibility: Visibility, shared: set[tuple[str, str, str]]) -> None:
    room(tmp_path, visibility, "a")[1].write_file("mine.txt", "text", session=session("s", "c"))
    for agent, scope, conversation in [("a", "s", "c"), ("a", "s", "d"), ("a", "t", "c"), ("b", "s", "c")]:
        seen = room(tmp_path, visibility, agent)[0].list_files(session=session(scope, conversation))
        assert ("mine.txt" in seen) == ((agent, scope, conversation) in shared)


def test_agents_without_a_name_share_what_is_of_a_conversation(tmp_path: Path) -> None:
    here = session("s", "c")
    room(tmp_path, "conversation")[1].write_file("ours.txt", "text", session=here)
    assert "ours.txt" in room(tmp_path, "conversation")[0].list_files(session=here)


def test_rooms_of_one_kind_do_not_hold_those_of_another(tmp_path: Path) -> None:
    here = session("s", "c")
    kinds: tuple[Visibility, ...] = ("all", "agent", "scope", "conversation")
    for kind in kinds:
        room(tmp_path, kind, "a")[1].write_file(f"of-{kind}.txt", "text", session=here)
    for kind in kinds:
        found = room(tmp_path, kind, "a")[0].find_files("**/*.txt", session=here)
        assert found == f"of-{kind}.txt\n[1 found]"


@pytest.mark.parametrize(
    ("scope", "conversation"),
    [("a/b", "c"), ("a", "b/c"), ("..", ".."), ("", ""), ("a%2fb", "c"), ("A/B", "c")],
)
def test_addresses_that_look_alike_stay_apart(tmp_path: Path, scope: str, conversation: str) -> None:
    looking, changing = room(tmp_path / "root", "conversation")
    others = [("a/b", "c"), ("a", "b/c"), ("..", ".."), ("", ""), ("a%2fb", "c"), ("A/B", "c")]
    changing.write_file("mine.txt", "text", session=session(scope, conversation))
    for other in others:
        seen = looking.list_files(session=session(*other))
        assert ("mine.txt" in seen) == (other == (scope, conversation))
    assert [path.name for path in tmp_path.iterdir()] == ["root"]


def test_a_room_needs_what_it_is_named_by(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="needs the name of the agent"):
        Rooms(tmp_path, "agent")
    with pytest.raises(InvalidValue, match="all, agent, scope, conversation"):
        Rooms(tmp_path, "everybody")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(WrongType, match="a name is a text, not int"):
        folder_name(1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidValue, match="files of a conversation need a session"):
        room(tmp_path, "conversation")[0].list_files()
    with pytest.raises(InvalidLimit, match="the limit entries is more than 0"):
        FileLimits(entries=0).checked()


def test_a_root_that_is_a_link_is_the_wish_of_its_owner(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    room(tmp_path / "link", "all")[1].write_file("one.txt", "text")
    assert (tmp_path / "real" / "all" / "one.txt").read_text() == "text"


def test_a_root_that_cannot_be_made_is_told_without_its_place(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(QuireError) as refused:
        room(tmp_path / "file" / "root", "all")[0].list_files()
    assert str(refused.value).startswith("the folder of the file tools ")
    assert str(tmp_path) not in str(refused.value)
