"""What a model is told that is to write a program, and what it is told of one that does not work."""

from collections.abc import Mapping, Sequence
from typing import Any

from quire.agent.calls import has_acted
from quire.agent.tools import ends
from quire.items import Message
from quire.programs.faults import ProgramFault
from quire.programs.replaying import Made
from quire.programs.task import Task
from quire.programs.values import as_text

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
  generator expression is gone through at once. A method is no value: write `key=lambda s: s.lower()`, not
  `key=str.lower`.
- Dates have no utcnow, fromtimestamp, isocalendar, toordinal or timetuple, and timedelta takes whole numbers:
  `datetime.now(timezone.utc)`, and `datetime(1970, 1, 1) + timedelta(seconds=n)`.
- Each call costs time and money: make no more calls than the task needs."""

_MOST = 4_000
"""Characters that are shown of what is given, of what was printed, and of calls that were made."""

_MOST_OF_CALL = 300
"""Characters of what one call was given, and of what it gave."""


def prompt_for(task: Task, values: Mapping[str, Any] | None = None) -> tuple[Message, Message]:
    """The rules and the task; with what is given this time, where that is known."""
    said = [f"# Task: {task.name}"]
    if task.description:
        said.append(task.description)
    said.append(f"# What there is\n\n```python\n{task.stubs.strip()}\n```")
    if values is not None:
        said.append(f"# What is given this time\n\n```json\n{_shortened(as_text(values))}\n```")
    else:
        said.append("The program is kept, and run with other values each time.")
    return Message("system", _RULES), Message("user", "\n\n".join(said))


def told_of_fault(fault: ProgramFault) -> str:
    """What a model is told of a program that cannot be run, or that failed."""
    said = [f"This program does not work ({fault.kind}): {fault}"]
    if fault.printed:
        said.append(f"It had printed:\n\n```\n{_shortened(fault.printed)}\n```")
    return "\n\n".join([*said, "Write the whole program again, without this fault."])


def told_of_calls(made: Sequence[Made]) -> str:
    """What a model is told of calls that programs have made, whatever became of those programs."""
    lines: list[str] = []
    for one in made:
        line = _call_in_words(one)
        if sum(map(len, lines)) + len(line) > _MOST:
            lines.append(f"- and {len(made) - len(lines)} more")
            break
        lines.append(line)
    return "\n".join(
        [f"Programs that failed have made calls, {len(made)} since you wrote:", "", *lines, "", _MADE]
    )


_MADE = """\
What these did is done. A program that makes the same call again is given what it gave, and the call is not
made a second time. Calls that failed are made again, and those of functions that may be repeated. One that
was stopped may have been done all the same, and one that failed after it had acted has done something: these
are not made again, and fail again."""


def _call_in_words(made: Made) -> str:
    given, gave = (_shortened(text, _MOST_OF_CALL) for text in (made.call.arguments, made.result.text))
    return f"- {made.call.name} {given} {_ending_of(made)}: {gave}"


def _ending_of(made: Made) -> str:
    if not made.result.is_error:
        return "gave"
    if not made.lasts:
        return "failed"
    return "failed after it had acted" if has_acted(made.fault) else "was stopped"


RUN = "The program passed the checks, and is run."
"""What stands between a program and the calls that it makes: they are not those of the model's reply."""


def program_in_words(code: str) -> str:
    """A program as a model answers with it."""
    return f"```python\n{code}\n```"


def _shortened(text: str, most: int = _MOST) -> str:
    if len(text) <= most:
        return text
    beginning, ending = ends(text, most)
    return f"{beginning}\n[{len(text) - most:,} characters are left out here]\n{ending}"
