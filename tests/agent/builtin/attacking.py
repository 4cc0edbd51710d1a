"""Ways out of a room, as data: hostile paths, and what may be tried with each.

Everything of a world is below one folder: `outside`, which no tool may touch, and `root`, whose room `all` is
full of traps. Run as a script, it tries everything as an ordinary user.
"""

import os
import socket
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from quire.agent.builtin.files.changing import Changing
from quire.agent.builtin.files.limits import FileLimits
from quire.agent.builtin.files.looking import Looking
from quire.agent.builtin.files.rooms import Rooms
from quire.errors import QuireError

SECRET = "the-secret-that-stays-outside"
NOBODY = 65534


class World:
    """A room with traps in it, and what is outside."""

    def __init__(self, place: Path) -> None:
        self.outside, self.root = place / "outside", place / "root"
        self.room = self.root / "all"
        (self.outside / "folder").mkdir(parents=True)
        self.secret = self.outside / "secret.txt"
        self.secret.write_text(SECRET)
        self.single = self.outside / "folder" / "inner.txt"
        """A file outside that no hard link leads to."""
        self.single.write_text(SECRET)
        (self.outside / "folder" / f"{SECRET}.txt").write_text(SECRET)
        (self.room / "inside" / "deep").mkdir(parents=True)
        (self.room / "inside" / "deep" / "plain.txt").write_text("a plain file\n")
        (self.room / "plain.txt").write_text("a plain file\n")
        self._set_traps()
        rooms, limits = Rooms(self.root, "all"), FileLimits(seconds=60)
        self.looking, self.changing = Looking(rooms, limits), Changing(rooms, limits)
        self.before = self._seen()

    def _set_traps(self) -> None:
        links = {
            "file-link": self.secret,
            "dir-link": self.outside,
            "up-link": Path("../../outside"),
            "root-link": Path("/"),
            "proc-link": Path("/proc/self/root"),
            "chain-1": Path("chain-2"),
            "chain-2": Path("dir-link"),
            "loop-1": Path("loop-2"),
            "loop-2": Path("loop-1"),
            "self-link": Path("self-link"),
            "dangling": self.outside / "made.txt",
            "dangling-dir": self.outside / "made",
            "inner-link": Path("inside"),
            "inside/dir-link": self.outside,
            "inside/deep/file-link": self.secret,
            ".hidden-link": self.secret,
        }
        for name, target in links.items():
            (self.room / name).symlink_to(target)
        os.link(self.secret, self.room / "hard")
        os.link(self.secret, self.room / "inside" / "hard")
        os.mkfifo(self.room / "fifo")
        with socket.socket(socket.AF_UNIX) as one, suppress(OSError):  # its path may be too long for a socket
            one.bind(str(self.room / "socket"))
        with suppress(PermissionError):
            os.mknod(self.room / "device", stat.S_IFCHR | 0o600, os.makedev(1, 3))

    def _seen(self) -> dict[str, tuple[object, ...]]:
        found: dict[str, tuple[object, ...]] = {}
        for path in sorted(self.outside.rglob("*")):
            one = path.lstat()
            content = path.read_bytes() if path.is_file() else b""
            found[str(path)] = one.st_mode, one.st_ino, one.st_mtime_ns, content
        return found

    def check(self, answer: str) -> None:
        """Nothing outside was read, changed or made, and nothing was told of where it is."""
        assert SECRET not in answer, "a file outside was read"
        assert self._seen() == self.before, "something outside was changed"
        assert str(self.root) not in answer, "the place on the disk was told"
        for path in self.room.rglob("*"):
            one = path.lstat()
            if stat.S_ISREG(one.st_mode) and one.st_ino != self.secret.lstat().st_ino:
                assert SECRET not in path.read_text(), "a file outside was copied"


def hostile_paths(world: World) -> dict[str, str]:
    """Paths by what they try."""
    there = str(world.secret)
    return {
        "up": "../../outside/secret.txt",
        "up far": "../" * 30 + there[1:],
        "up from below": "inside/../../../outside/secret.txt",
        "up from a file": "plain.txt/../../../outside/secret.txt",
        "up after dots": "./././../../outside/secret.txt",
        "up alone": "..",
        "up with a slash": "../",
        "up twice slashed": "..//..//outside//secret.txt",
        "up doubled": "....//....//outside/secret.txt",
        "up with a semicolon": "..;/..;/outside/secret.txt",
        "up with a space": ".. /.. /outside/secret.txt",
        "up after a space": " ../ ../outside/secret.txt",
        "up with a dot more": ".../.../outside/secret.txt",
        "up with a tab": "..\t/..\t/outside/secret.txt",
        "up with a line": "..\n/outside/secret.txt",
        "up unseen": "..\u200b/..\u200b/outside/secret.txt",
        "up turned": "\u202e../../outside/secret.txt",
        "absolute": there,
        "absolute twice slashed": f"//{there}",
        "absolute after a space": f" {there}",
        "absolute by address": f"file://{there}",
        "absolute by proc": f"/proc/self/root{there}",
        "proc": "/proc/self/environ",
        "proc below": f"proc/self/root{there}",
        "devices": "/dev/stdin",
        "encoded": "%2e%2e/%2e%2e/outside/secret.txt",
        "encoded slashes": "..%2f..%2foutside%2fsecret.txt",
        "encoded twice": "%252e%252e/%252e%252e/outside/secret.txt",
        "encoded long": "%c0%ae%c0%ae/outside/secret.txt",
        "backslashes": "..\\..\\outside\\secret.txt",
        "backslashes mixed": "..\\../outside/secret.txt",
        "a drive": f"C:{there}",
        "a share": "\\\\outside\\secret.txt",
        "zero": "../../outside/secret.txt\x00",
        "zero within": "plain.txt\x00/../../../outside/secret.txt",
        "zero before": "\x00../../outside/secret.txt",
        "home": "~",
        "home below": "~/secret.txt",
        "home of root": "~root/secret.txt",
        "a variable": "$HOME/../outside/secret.txt",
        "a command": "$(cat ../../outside/secret.txt)",
        "wide dots": "\uff0e\uff0e/\uff0e\uff0e/outside/secret.txt",
        "two dot leader": "\u2025/\u2025/outside/secret.txt",
        "one dot leaders": "\u2024\u2024/\u2024\u2024/outside/secret.txt",
        "wide slashes": "..\uff0f..\uff0foutside\uff0fsecret.txt",
        "division slashes": "..\u2215..\u2215outside\u2215secret.txt",
        "half a character": "..\udc2f..\udc2foutside",
        "link to a file": "file-link",
        "link to a file with a slash": "file-link/",
        "link to a folder": "dir-link",
        "link to a folder with a slash": "dir-link/",
        "link with a dot": "dir-link/.",
        "link and up": "dir-link/../outside/secret.txt",
        "through a link": "dir-link/secret.txt",
        "through a link, new": "dir-link/made.txt",
        "through a link, deep": "dir-link/folder/inner.txt",
        "through a relative link": "up-link/secret.txt",
        "through a link to the root": f"root-link{there}",
        "through a link to proc": f"proc-link{there}",
        "through a chain": "chain-1/secret.txt",
        "chain": "chain-1",
        "loop": "loop-1",
        "through a loop": "loop-1/secret.txt",
        "link to itself": "self-link/secret.txt",
        "dangling link": "dangling",
        "through a dangling link": "dangling-dir/made.txt",
        "link inside": "inner-link/deep/plain.txt",
        "link below": "inside/dir-link/secret.txt",
        "link deep below": "inside/deep/file-link",
        "hidden link": ".hidden-link",
        "case of a link": "DIR-LINK/secret.txt",
        "link with a space": "dir-link /secret.txt",
        "link with a dot at the end": "dir-link./secret.txt",
        "hard link": "hard",
        "hard link below": "inside/hard",
        "pipe": "fifo",
        "through a pipe": "fifo/x",
        "socket": "socket",
        "device": "device",
        "very long name": "a" * 300,
        "very long name of wide signs": "\u00e9" * 200,
        "very long path": "a/" * 3_000 + "x",
        "very deep": "a/" * 100 + "x",
        "empty": "",
        "dot": ".",
        "slash": "/",
    }


ATTEMPTS: dict[str, Callable[[World, str], str]] = {
    "list": lambda world, path: world.looking.list_files(path),
    "read": lambda world, path: world.looking.read_file(path),
    "find": lambda world, path: world.looking.find_files("*", path),
    "find by pattern": lambda world, path: world.looking.find_files(path),
    "search": lambda world, path: world.looking.search_files("secret|stays", path),
    "search by pattern": lambda world, path: world.looking.search_files("secret|stays", files=path),
    "write": lambda world, path: world.changing.write_file(path, "overwritten"),
    "write below": lambda world, path: world.changing.write_file(f"{path}/new/made.txt", "made"),
    "edit": lambda world, path: world.changing.edit_file(path, "secret", "known"),
    "copy from": lambda world, path: world.changing.copy_file(path, "copy"),
    "copy to": lambda world, path: world.changing.copy_file("plain.txt", path, overwrite=True),
    "copy a folder to": lambda world, path: world.changing.copy_file("inside", path),
    "move from": lambda world, path: world.changing.move_file(path, "moved"),
    "move to": lambda world, path: world.changing.move_file("plain.txt", path, overwrite=True),
    "move a folder to": lambda world, path: world.changing.move_file("inside", path, overwrite=True),
    "remove": lambda world, path: world.changing.remove_file(path),
    "remove all of": lambda world, path: world.changing.remove_file(path, recursive=True),
}


def attempt(world: World, way: str, path: str) -> bool:
    """Try it, and check what came of it; whether it was refused."""
    try:
        answer, is_refused = ATTEMPTS[way](world, path), False
    except QuireError as refused:
        answer, is_refused = str(refused), True
    world.check(answer)
    return is_refused


def become_nobody(place: Path) -> None:
    """Give up all rights. What Python loads late is loaded first: it may be in a folder closed to others."""
    world = World(place)
    for path in hostile_paths(world).values():
        attempt(world, "read", path)
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    if not os.access(sys.executable, os.X_OK):
        sys.executable = "/usr/bin/python3"  # searches need one; where there is none, they are refused


def main(place: Path) -> None:
    """Try everything, in worlds of one's own; as root, become nobody first."""
    if os.getuid() == 0:
        become_nobody(place / "as root")
    number, world = 0, World(place / "first")
    for way in ATTEMPTS:
        for name in hostile_paths(world):
            number += 1
            if not attempt(world, way, hostile_paths(world)[name]):
                world = World(place / str(number))
    print(os.getuid(), number)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
