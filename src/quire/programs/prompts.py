"""Prompts: what a model reads before it writes a program or corrects one, and the program in its reply."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from textwrap import dedent
from typing import Any, NamedTuple

from quire.agent.side_effects import has_acted
from quire.agent.tools import ends
from quire.items import Message, frame
from quire.models import answer_text
from quire.programs.replay import PastCall
from quire.programs.source import ProgramFault, parse
from quire.programs.task import Task
from quire.programs.values import as_text
from quire.providers import Finish, Parsed

_RULES = """\
You answer a task by writing a short Python program. It is run in a sandbox, and its value is the answer.

- Answer with the whole program in one ```python block, and nothing else.
- The answer is the value of the variable `output`, set at the top level. It has the type `Output`.
- The variables and functions that are declared to you exist already: do not define or import them, and give
  their names to nothing else. Types are declared for annotations alone: write `{"a": 1}`, not `Output(a=1)`.
- Declared functions are async: write `await search("x")` at the top level. To call several at once, write
  `import asyncio` and `a, b = await asyncio.gather(search("x"), search("y"))`. `gather` takes no keywords.
  A call is made when it is awaited: one that is never awaited is not made. Of asyncio there are `gather`,
  `run` and `sleep` alone: no Semaphore, no wait_for, no create_task.
- A function that fails raises: catch it where the program can go on without it. To go on where one of
  several fails, catch it in an async function of your own, and gather calls of that.
- There are no files, no network, no processes and no packages. Of Python's own modules there are asyncio,
  json, re, math, datetime, collections, itertools, functools, random, decimal and dataclasses, among others.
- There is no class inheritance, no @property, no yield, no async for or async with, no del, no eval or exec,
  no function in re.sub, no str.maketrans or translate, no float.is_integer, no `default=` in json.dumps. A
  generator expression is evaluated at once. A method is not a value: write `key=lambda s: s.lower()`, not
  `key=str.lower`.
- Dates have no utcnow, fromtimestamp, isocalendar, toordinal or timetuple, and timedelta takes whole numbers:
  `datetime.now(timezone.utc)`, and `datetime(1970, 1, 1) + timedelta(seconds=n)`.
- Each call costs time and money: make no more calls than the task needs."""

_REPLAY_RULES = """\
These effects are done. A program that makes the same call again receives the earlier result; the call does
not run a second time. Failed calls run again, and so do calls of functions that may be repeated. A call that
was stopped may have had its effect, and a call that failed after it had acted may have had a part of its
effect: neither runs again, and both fail again."""

NOTICE = "The program passed the checks, and is run."
"""A user message between a program and the calls that it makes: else they would seem to be the model's."""

_MAX_SHOWN = 4_000
"""Characters of an input, of printed text, and of the report of calls."""

_MAX_CALL = 300  # characters of the arguments, and of the result

_INCOMPLETE: Mapping[Finish, str] = {
    "length": "it was cut off at the limit of output tokens",
    "refused": "the model refused to continue",
    "paused": "it was interrupted",
}

_PYTHON = frozenset(("python", "py", "python3"))
_OPENING = re.compile(r"^[ \t]*+(```++|~~~++)[ \t]*+([\w+-]*+)[^\n]*+\n", re.MULTILINE)
_MAX_CLOSINGS = 20
"""Lines of backticks that are tried as the end of a block."""


# --- messages to the model -----------------------------------------------------------------------------


def prompt_for(task: Task, values: Mapping[str, Any] | None = None) -> tuple[Message, Message]:
    """The rules and the task, with the input of this run if it is known."""
    parts = [f"# Task: {task.name}"]
    if task.description:
        parts.append(task.description)
    parts.append(f"# What there is\n\n```python\n{task.stubs.strip()}\n```")
    if values is not None:
        parts.append(f"# What is given this time\n\n{frame('values', _shortened(as_text(values)))}")
    else:
        parts.append("The program is kept, and run with other values each time.")
    return Message("system", _RULES), Message("user", "\n\n".join(parts))


def fault_message(fault: ProgramFault) -> Message:
    """The report of a program that failed the checks or the run."""
    parts = [f"This program does not work ({fault.kind}):\n\n{frame('fault', str(fault))}"]
    if fault.printed:
        parts.append(f"It had printed:\n\n{frame('printed', _shortened(fault.printed))}")
    return Message("user", "\n\n".join([*parts, "Write the whole program again, without this fault."]))


def calls_message(calls: Sequence[PastCall]) -> Message:
    """The report of calls that failed programs made."""
    lines: list[str] = []
    for call in calls:
        line = _call_line(call)
        if sum(map(len, lines)) + len(line) > _MAX_SHOWN:
            lines.append(f"- and {len(calls) - len(lines)} more")
            break
        lines.append(line)
    heading = f"Programs that failed made {len(calls)} calls since your last program:"
    return Message("user", "\n".join([heading, frame("calls", "\n".join(lines)), _REPLAY_RULES]))


def code_message(code: str) -> Message:
    """A program as the reply of a model."""
    return Message("assistant", f"```python\n{code}\n```")


def _call_line(past: PastCall) -> str:
    arguments, result = (_shortened(text, _MAX_CALL) for text in (past.call.arguments, past.result.text))
    if not past.result.is_error:
        ending = "gave"
    elif not past.has_effect:
        ending = "failed"
    else:
        ending = "failed after it had acted" if has_acted(past.error) else "was stopped"
    return f"- {past.call.name} {arguments} {ending}: {result}"


def _shortened(text: str, limit: int = _MAX_SHOWN) -> str:
    if len(text) <= limit:
        return text
    beginning, ending = ends(text, limit)
    return f"{beginning}\n[{len(text) - limit:,} characters are left out here]\n{ending}"


# --- the program in a reply ----------------------------------------------------------------------------


class _Block(NamedTuple):
    """A fenced block of a reply."""

    language: str
    text: str
    is_closed: bool


def incomplete(parsed: Parsed) -> str | None:
    """Why a reply is incomplete, or None if it is complete."""
    return _INCOMPLETE.get(parsed.finish)


def complete_text(parsed: Parsed) -> str:
    """The text of a reply; `ProgramFault` if it is incomplete: half a program may be a valid program."""
    text, reason = answer_text(parsed), incomplete(parsed)
    if reason is None and parsed.finish != "stop":
        blocks = [*_blocks(text)]
        reason = None if blocks and blocks[-1].is_closed else "it has no end"
    if reason is not None:
        reason += ": write a shorter one" if parsed.finish == "length" else ""
        raise ProgramFault("syntax", f"the answer has no complete program, and nothing was run: {reason}")
    return text


def program_in(reply: str) -> str:
    """The program of a reply: its only block of Python, its only block, or all of it.

    Several blocks are refused: one of them may be only a draft, and running it would have effects.
    """
    reply = reply.replace("\r\n", "\n")
    blocks = [*_blocks(reply)]
    candidates = [block for block in blocks if block.language in _PYTHON] or blocks
    programs = [text for text in ([block.text for block in candidates] or [reply]) if text.strip()]
    if not programs:
        raise ProgramFault("syntax", "there is no program in the answer: write one, in one ```python block")
    if len(programs) > 1:
        several = f"there are {len(programs)} blocks in the answer, and none of them was run"
        raise ProgramFault("syntax", f"{several}: write the whole program in one ```python block")
    return programs[0].strip("\n").rstrip()


def _blocks(reply: str) -> Iterator[_Block]:
    start = 0
    while opening := _OPENING.search(reply, start):
        closing = re.compile(rf"^[ \t]*+{re.escape(opening[1])}[ \t]*+$", re.MULTILINE)
        language, begin = opening[2].lower(), opening.end()
        closings = [match.span() for match in islice(closing.finditer(reply, begin), _MAX_CLOSINGS)]
        if not closings:
            yield _Block(language, _unindented(reply[begin:]), False)
            return
        end, start = closings[0]
        if len(closings) > 1 and language in {*_PYTHON, ""}:
            # Backticks within a string of the program do not end the block.
            complete = (span for span in closings if _is_program(reply[begin : span[0]]))
            end, start = next(complete, closings[0])
        yield _Block(language, _unindented(reply[begin:end]), True)


def _is_program(text: str) -> bool:
    try:
        parse(_unindented(text))
    except ProgramFault:
        return False
    return True


def _unindented(text: str) -> str:
    """The text of a block without the indentation that all of it has, as in a list."""
    return dedent(text) if text.startswith(" ") else text
