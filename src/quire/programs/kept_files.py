"""Kept programs as files that people can read: what is known of a program in comments, then its code."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from quire.errors import Damaged, StoreFailed
from quire.items import new_id, now
from quire.programs.check import Program
from quire.programs.pricing import Price
from quire.programs.task import Task

_FIRST = "# quire program 1"
_FIELD = re.compile(r"# (\w+): (.*)")
_NOT_NAMED = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 60


class Kept(NamedTuple):
    """A program that is kept, and where."""

    program: Program
    price: Price
    version: str
    path: Path | None = None
    is_edited: bool = False


def file_name(task: Task, version: str) -> str:
    """The name of the file of a program: another for each version, so that none stands in the way."""
    return f"{_NOT_NAMED.sub('_', task.name)[:_LONGEST_NAME]}-{version}.py"


def kept_as(program: Program, price: Price, version: str) -> Kept:
    """A program as it is read again once it was kept."""
    return Kept(Program(_code(program.code), program.calls), price, version)


def write_kept(path: Path, task: Task, model: str, kept: Kept) -> None:
    """Write a program to its file, whole or not at all."""
    text = "\n".join([_FIRST, *_header(task, model, kept), "", _code(kept.program.code), ""])
    draft = path.with_name(f".{new_id()}.draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("x", encoding="utf-8") as file:  # who may read it, the umask says
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as fault:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise StoreFailed(f"the program cannot be kept in {path.parent}: {fault.strerror}") from fault


def read_kept(path: Path, version: str) -> Kept | None:
    """The program in a file, if there is one; `Damaged` where it is not what was written there."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise Damaged("it is no text", str(path)) from None
    except NotADirectoryError as fault:
        raise StoreFailed(f"programs cannot be kept in {path.parent}: {fault.strerror}") from fault
    except OSError as fault:
        raise Damaged(f"it cannot be read: {fault.strerror}", str(path)) from fault
    header, _, code = text.partition("\n\n")
    lines = header.splitlines()
    if lines[:1] != [_FIRST]:
        raise Damaged("it is no program that Quire kept", str(path))
    fields = {found[1]: found[2] for line in lines[1:] if (found := _FIELD.fullmatch(line))}
    return _read(path, version, fields, _code(code))


def _read(path: Path, version: str, fields: dict[str, str], code: str) -> Kept:
    if fields.get("version") != version:
        raise Damaged("it is of another version than its name says", str(path))
    if not code.strip():
        raise Damaged("there is no program in it", str(path))
    try:
        money, seconds, calls = (float(part.split()[0]) for part in fields["price"].split(","))
    except (KeyError, ValueError, IndexError):
        raise Damaged("its price cannot be read", str(path)) from None
    program = Program(code, tuple(fields.get("calls", "").split()))
    is_edited = fields.get("code") != _digest(code)
    return Kept(program, Price(money=money, seconds=seconds, calls=calls), version, path, is_edited)


def _header(task: Task, model: str, kept: Kept) -> Iterator[str]:
    code, price = _code(kept.program.code), kept.price
    fields = {
        "name": task.name,
        "description": task.description,
        "version": kept.version,
        "task": task.version,
        "model": model,
        "written": datetime.fromtimestamp(now(), UTC).isoformat(timespec="seconds"),
        "price": f"{price.money:g} USD, {price.seconds:g} seconds, {price.calls:g} calls",
        "calls": " ".join(kept.program.calls),
        "code": _digest(code),
    }
    for name, value in fields.items():
        yield f"# {name}: {_line(value)}"


def _line(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in " ".join(text.split()))


def _code(code: str) -> str:
    return code.strip("\n")


def _digest(code: str) -> str:
    return blake2b(code.encode(errors="surrogatepass"), digest_size=16).hexdigest()
