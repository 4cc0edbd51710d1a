"""The other side of a search, run as a script in a process of its own: an expression over texts, one by one.

An expression can take longer than anybody lives, and a thread that runs one cannot be stopped; a process
can. It imports nothing of the library, so that it starts at once. It opens no files: texts come in by a
pipe, each with its length before it, and for each one line of JSON goes out.
"""

import json
import re
import resource
import sys
from typing import Any, BinaryIO

_MEMORY = 1 << 30
_LEAD = 80


def limit_myself(seconds: int) -> None:
    """Where the one who started this process is killed, it still ends."""
    for what, most in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, _MEMORY),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(what)[1]
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (allowed, allowed))


def matching_lines(
    expression: "re.Pattern[str]", data: bytes, most: int, longest: int
) -> list[list[Any]] | None:
    """The lines that match, as number and text; nothing at all for what is no text."""
    if b"\x00" in data:
        return None
    try:
        lines = data.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError:
        return None
    if not lines[-1]:
        lines.pop()  # the end of the last line, not a line of its own
    found: list[list[Any]] = []
    for number, line in enumerate(lines, 1):
        match = expression.search(line.removesuffix("\r"))
        if match and len(found) == most:
            found.append([0, ""])  # there are more: one too many says so
            break
        if match:
            found.append([number, _around(line.removesuffix("\r"), match.start(), longest)])
    return found


def _around(line: str, at: int, longest: int) -> str:
    if len(line) <= longest:
        return line
    begin = max(0, min(at - _LEAD, len(line) - longest))
    end = begin + longest
    return f"{'…' if begin else ''}{line[begin:end]}{'…' if end < len(line) else ''}"


def serve(texts: BinaryIO, answers: BinaryIO) -> None:
    """Answer until nothing more comes."""

    def answer(value: object) -> None:
        answers.write(json.dumps(value).encode() + b"\n")
        answers.flush()

    asked = json.loads(texts.readline())
    limit_myself(asked["seconds"])
    try:
        expression = re.compile(asked["expression"], re.IGNORECASE if asked["ignore_case"] else 0)
    except (re.error, OverflowError, RecursionError, MemoryError) as fault:
        answer({"fault": str(fault) or type(fault).__name__})
        return
    answer({"fault": ""})
    while head := texts.readline():
        length, most = map(int, head.split())
        answer(matching_lines(expression, texts.read(length), most, asked["longest"]))


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
