"""The file tools under attack: whatever is tried, what is outside is unread, unchanged and unmade."""

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from quire.errors import QuireError
from tests.agent.builtin.attacking import ATTEMPTS, NOBODY, SECRET, World, attempt, hostile_paths

PROJECT = Path(__file__).parent.parent.parent.parent


def names(tmp: Path) -> list[str]:
    return list(hostile_paths(World(tmp)))


with tempfile.TemporaryDirectory() as _place:
    PATHS = names(Path(_place))

REFUSED_BY_NAME = [
    *("up", "up far", "up from below", "up from a file", "up after dots", "up alone", "up with a slash"),
    *("up twice slashed", "up doubled", "up with a space", "up with a dot more", "up with a tab", "absolute"),
    *("absolute twice slashed", "absolute by proc", "proc", "devices", "backslashes", "backslashes mixed"),
    *("a share", "zero", "zero within", "zero before", "home", "home below", "wide dots", "two dot leader"),
    *(
        "one dot leaders",
        "wide slashes",
        "half a character",
        "very long name",
        "very long name of wide signs",
    ),
    *("very long path", "very deep", "link with a space", "link with a dot at the end", "slash"),
]
"""Refused whatever is to be done: others are names like any other, or found out when they are opened."""

THROUGH_LINKS = [
    *("link to a file", "link to a folder", "through a link", "through a link, new", "through a link, deep"),
    *("through a relative link", "through a link to the root", "through a link to proc", "through a chain"),
    *("chain", "loop", "through a loop", "link to itself", "dangling link", "through a dangling link"),
    *("link inside", "link below", "link deep below", "hidden link"),
]


@pytest.mark.parametrize("way", ATTEMPTS)
@pytest.mark.parametrize("name", PATHS)
def test_no_way_out(quick_path: Path, name: str, way: str) -> None:
    world = World(quick_path)
    is_refused = attempt(world, way, hostile_paths(world)[name])
    assert is_refused or not must_be_refused(name, way)


def must_be_refused(name: str, way: str) -> bool:
    """A pattern is no path: what it does not fit is not found. Of a link, the link itself may be removed."""
    if "pattern" in way:
        return False
    return name in REFUSED_BY_NAME or (name in THROUGH_LINKS and "remove" not in way)


@pytest.mark.parametrize("name", ["hard", "inside/hard"])
@pytest.mark.parametrize("way", ["read", "write", "edit", "copy from", "copy to", "move from", "move to"])
def test_a_file_with_a_second_name_is_refused(quick_path: Path, name: str, way: str) -> None:
    world = World(quick_path)
    with pytest.raises(QuireError, match="hard link"):
        ATTEMPTS[way](world, name)


@pytest.mark.parametrize("name", ["fifo", "socket", "device"])
@pytest.mark.parametrize("way", ["read", "write", "edit", "copy from", "copy to", "move from", "move to"])
def test_what_is_no_file_is_refused_at_once(quick_path: Path, name: str, way: str) -> None:
    world = World(quick_path)
    if not os.path.lexists(world.room / name):
        pytest.skip("this system does not let us make one here")
    with pytest.raises(QuireError, match="a pipe, a socket or a device"):
        ATTEMPTS[way](world, name)


def test_looking_everywhere_follows_nothing(quick_path: Path) -> None:
    world = World(quick_path)
    found = world.looking.find_files("**")
    assert "inside/deep/plain.txt" in found
    assert "inside/dir-link (a link: never followed)" in found
    assert "secret.txt" not in found
    assert "inner.txt" not in found
    searched = world.looking.search_files("plain|secret")
    assert "inside/deep/plain.txt:1: a plain file" in searched
    world.check(found + searched)


def test_a_folder_with_traps_is_copied_without_them(quick_path: Path) -> None:
    world = World(quick_path)
    assert "links and special files left out: 3" in world.changing.copy_file("inside", "copy")
    assert sorted(path.name for path in (world.room / "copy").rglob("*")) == ["deep", "plain.txt"]
    world.check("")


def test_a_folder_with_traps_is_removed_and_what_they_lead_to_stays(quick_path: Path) -> None:
    world = World(quick_path)
    for name in sorted(os.listdir(world.room)):
        world.changing.remove_file(name, recursive=True)
    assert os.listdir(world.room) == []
    world.check("")


def test_a_room_that_was_replaced_by_a_link_is_not_entered(quick_path: Path) -> None:
    world = World(quick_path)
    world.room.rename(world.root / "elsewhere")
    world.room.symlink_to(world.outside)
    for way, act in ATTEMPTS.items():
        with pytest.raises(QuireError) as refused:
            act(world, "secret.txt")
        assert str(world.root) not in str(refused.value), way
    assert world.secret.read_text() == SECRET


def test_what_is_written_belongs_to_its_owner_alone(quick_path: Path) -> None:
    world = World(quick_path)
    world.changing.write_file("new/one.txt", "text")
    assert stat.S_IMODE((world.room / "new").stat().st_mode) == 0o700
    assert stat.S_IMODE((world.room / "new" / "one.txt").stat().st_mode) == 0o600


def test_an_ordinary_user_gets_no_further() -> None:
    with tempfile.TemporaryDirectory() as place:
        if os.getuid() == 0:
            os.chown(place, NOBODY, NOBODY)
        done = subprocess.run(
            [sys.executable, "-m", "tests.agent.builtin.attacking", place],
            cwd=PROJECT,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    user, number = map(int, done.stdout.split())
    assert user != 0
    assert number == len(ATTEMPTS) * len(PATHS)
