"""How large the library is: lines and files of each package, and the files that a turn passes through.

Usage: python bench/size.py [--page FILE]

Two turns are followed with `sys.setprofile`, in all threads: a message that is recorded, built, rendered and
answered in the caller's own loop, and an agent's answer with one tool call. Each runs once before it is
followed, so imports and caches are warm.
"""

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any

import page
import quire
from load import Instant
from quire import Agent, Budget, Session, Template, ToolCall, tool
from quire.providers import Rendered
from quire.sections import History, Instructions

ROOT = Path(__file__).parent.parent


def size_of(folder: Path) -> tuple[int, int]:
    """The lines and the number of Python files in a folder."""
    files = [path for path in folder.rglob("*.py") if "__pycache__" not in path.parts]
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files), len(files)


def sizes() -> str:
    """The sizes as a table: packages by length, then all."""
    folders = [path for path in (ROOT / "src" / "quire").iterdir() if (path / "__init__.py").exists()]
    packages = sorted((*size_of(path), f"`{path.name}`") for path in folders)[::-1]
    longest = ", ".join(f"{name} {lines:,}" for lines, _, name in packages)
    rows = [(f"`{name}`", *size_of(ROOT / name)) for name in ("src", "tests", "bench")]
    return f"{page.table(('', 'lines', 'files'), rows)}\n\nLines of each package: {longest}."


# The path of a turn

HOME = str(Path(quire.__file__).parent)
REPLY = {
    "model": "gpt-5.6",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Fine."}}],
    "usage": {"prompt_tokens": 20, "completion_tokens": 2, "total_tokens": 22},
}


class Trace:
    """The files, functions and calls that were passed through while it was on."""

    def __init__(self) -> None:
        self.on = False
        self.files: set[str] = set()
        self.functions: set[CodeType] = set()
        self.calls = 0

    def note(self, frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if self.on and event == "call" and code.co_filename.startswith(HOME):
            self.calls += 1
            self.files.add(code.co_filename)
            if not code.co_name.startswith("<"):  # comprehensions belong to their function
                self.functions.add(code)


async def followed(turn: Callable[[], Awaitable[None]]) -> Trace:
    """Trace the second run of a turn. The profile is set first, so that threads of the first run have it."""
    trace = Trace()
    threading.setprofile(trace.note)
    sys.setprofile(trace.note)
    await turn()
    trace.on = True
    await turn()
    trace.on = False
    sys.setprofile(None)
    threading.setprofile(None)  # type: ignore[arg-type]
    return trace


def own_loop(folder: str) -> Callable[[], Awaitable[None]]:
    """A turn in the caller's own loop, kept in SQLite."""
    session = Session.open("bench/hops", store=f"sqlite:///{folder}/hops.db")
    budget = Budget(window=8_000, reserve=500)
    template = Template(Instructions("Be brief."), History(), budget=budget, model="gpt-5.6")

    async def turn() -> None:
        session.user("How did Q3 go?")
        session.build(template).render("openai")
        session.record(REPLY)

    return turn


def with_a_tool(_folder: str) -> Callable[[], Awaitable[None]]:
    """An agent's answer with one tool call, in memory."""

    @tool
    async def stock(article: str) -> int:
        """How many of an article there are."""
        return len(article)

    calls = (ToolCall(f"c{n}", "stock", '{"article": "lamp"}') for n in count())

    def answer(sent: Rendered) -> ToolCall | str:
        return next(calls) if sent.payload["messages"][-1]["role"] == "user" else "Four."

    agent = Agent(instructions="You keep a shop.", model=Instant(answer), tools=[stock])

    async def turn() -> None:
        await agent.ask("How many lamps are there?")

    return turn


TURNS = {"`user` + `build` + `render` + `record`": own_loop, "`agent.ask` with one tool": with_a_tool}


def paths() -> str:
    """The paths as a table."""
    rows: list[tuple[object, ...]] = []
    for name, turn in TURNS.items():
        with TemporaryDirectory() as folder:
            trace = asyncio.run(followed(turn(folder)))
        rows.append((name, len(trace.files), len(trace.functions), trace.calls))
    return page.table(("turn", "files", "functions", "calls"), rows)


def main() -> None:
    parser = page.options(__doc__)
    given = parser.parse_args()
    text = f"{sizes()}\n\nWhat a turn passes through:\n\n{paths()}"
    page.report(given, {"size": text}, text)


if __name__ == "__main__":
    main()
