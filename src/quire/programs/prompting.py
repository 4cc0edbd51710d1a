"""What a model is told that is to write a program, and what it is told of one that does not work."""

from collections.abc import Mapping
from typing import Any

from quire.agent.tools.capping import ends
from quire.items import Message
from quire.programs.faults import ProgramFault
from quire.programs.task import Task
from quire.programs.values import as_text

_RULES = """\
You answer a task by writing a short Python program. It is run in a sandbox, and its value is the answer.

- Answer with the whole program in one ```python block, and nothing else.
- The answer is the value of the variable `output`, set at the top level. It has the type `Output`.
- The variables and functions that are declared to you exist already: do not define or import them.
- Declared functions are async: write `await search("x")` at the top level. To call several at once, write
  `import asyncio` and `a, b = await asyncio.gather(search("x"), search("y"))`.
- A function that fails raises: catch it where the program can go on without it.
- There are no files, no network, no processes and no packages. Of Python's own modules there are asyncio,
  json, re, math, datetime, collections, itertools, functools, random, decimal and dataclasses, among others.
- There is no class inheritance, no yield, no async for or async with, no del, no create_task.
- Each call costs time and money: make no more calls than the task needs."""

_MOST = 4_000
"""Characters that are shown of what is given, and of what was printed."""


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


RUN = "The program passed the checks, and is run."
"""What stands between a program and the calls that it makes: they are not those of the model's reply."""


def _shortened(text: str) -> str:
    if len(text) <= _MOST:
        return text
    beginning, ending = ends(text, _MOST)
    return f"{beginning}\n[{len(text) - _MOST:,} characters are left out here]\n{ending}"
