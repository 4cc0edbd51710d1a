"""What an agent's loop costs a turn, with a model that answers at once and does nothing else.

Usage: python bench/loop.py [--peers PYTHON] [--size N] [--turns N] [--rounds N] [--json] [--page FILE]

Each library answers turn after turn after a history of 1,000 messages: in memory with all of it, cut to about
a tenth, and kept in a SQLite file. Each round runs each of them in a process of its own. The figures are of
the best turn of all rounds: its CPU time, which other work on the machine changes little, and its time. Quire
renders a payload for OpenAI in each turn and keeps a receipt; the peers hand their own objects to the model,
so what their clients do with these is not in the figures.
"""

import argparse
import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import page

ANSWER, ASKED = "Fine, thank you.", "hello there"
ALL, CUT, KEPT = "all in memory", "cut to a tenth", "kept in SQLite"
TENTH = 6_000
"""About a tenth of the tokens of the history."""

Turn = Callable[[], Awaitable[Any]]


def texts(size: int) -> list[tuple[str, str]]:
    """The history: roles and words in turn, of the same length for everybody."""
    pairs = (
        (("user", f"question {n} " + "word " * 40), ("assistant", f"answer {n} " + "word " * 60))
        for n in range(size // 2)
    )
    return [message for pair in pairs for message in pair]


async def quire(way: str, size: int, folder: Path) -> Turn:
    from load import Instant
    from quire import Agent, Budget, Session, Template
    from quire.items import Message
    from quire.sections import History, Instructions

    session = Session.open("bench/one", store=folder / "quire.db" if way == KEPT else "memory:")
    session.append(*(Message(role, words) for role, words in texts(size)))  # type: ignore[arg-type]
    budget = Budget(window=TENTH if way == CUT else 10**6)
    template = Template(Instructions("Be brief."), History(), budget=budget, model="gpt-5.6")
    agent = Agent(session, model=Instant(ANSWER), template=template)

    async def turn() -> None:
        assert str(await agent.ask(ASKED)) == ANSWER

    return turn


async def openai_agents(way: str, size: int, folder: Path) -> Turn:
    from agents import Agent, ModelResponse, Runner, SQLiteSession, Usage, set_tracing_disabled
    from agents.models.interface import Model
    from openai.types.responses import ResponseOutputMessage, ResponseOutputText

    class Instant(Model):
        async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
            text = ResponseOutputText(text=ANSWER, type="output_text", annotations=[])
            said = ResponseOutputMessage(
                id="m", content=[text], role="assistant", status="completed", type="message"
            )
            return ModelResponse(output=[said], usage=Usage(), response_id=None)

        def stream_response(self, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

    set_tracing_disabled(True)
    agent = Agent(name="bench", instructions="Be brief.", model=Instant())
    history: list[Any] = [{"role": role, "content": words} for role, words in texts(size)]
    session = SQLiteSession("one", folder / "agents.db") if way == KEPT else None
    if session is not None:
        await session.add_items(history)

    async def turn() -> None:
        nonlocal history
        if session is not None:
            result = await Runner.run(agent, ASKED, session=session)
        else:
            result = await Runner.run(agent, [*history, {"role": "user", "content": ASKED}])
            history = result.to_input_list()
        assert result.final_output == ANSWER

    return turn


async def pydantic_ai(way: str, size: int, folder: Path) -> Turn:
    """Pydantic AI, with the capabilities of its Harness where it has none itself."""
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart
    from pydantic_ai.models import Model

    class Instant(Model):
        """Its TestModel and FunctionModel count the words of all messages; this one does not."""

        model_name = system = "instant"

        async def request(self, *_: Any) -> ModelResponse:
            return ModelResponse(parts=[TextPart(ANSWER)])

    capabilities: list[Any] = []
    if way == CUT:
        from pydantic_ai_harness.compaction import SlidingWindowCompaction

        capabilities.append(SlidingWindowCompaction(max_tokens=TENTH, keep_tokens=TENTH // 2))
    elif way == KEPT:
        from pydantic_ai_harness.step_persistence import SqliteStepStore, StepPersistence

        capabilities.append(StepPersistence(store=SqliteStepStore(database=folder / "harness.db")))
    agent = Agent(Instant(), instructions="Be brief.", capabilities=capabilities)
    history: list[Any] = [
        ModelRequest(parts=[UserPromptPart(words)])
        if role == "user"
        else ModelResponse(parts=[TextPart(words)])
        for role, words in texts(size)
    ]

    async def turn() -> None:
        nonlocal history
        result = await agent.run(ASKED, message_history=history, conversation_id="one")
        assert result.output == ANSWER
        history = result.all_messages()

    return turn


async def langgraph(_way: str, size: int, _folder: Path) -> Turn:
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessage, HumanMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import START, MessagesState, StateGraph

    class Instant(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "instant"

        def _generate(self, *_: Any, **__: Any) -> ChatResult:
            return ChatResult(generations=[ChatGeneration(message=AIMessage(ANSWER))])

        async def _agenerate(self, *_: Any, **__: Any) -> ChatResult:
            return self._generate()

    model = Instant()

    async def call(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState).add_node("agent", call).add_edge(START, "agent")
    app = graph.compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "one"}}
    past = [HumanMessage(words) if role == "user" else AIMessage(words) for role, words in texts(size)]
    await app.aupdate_state(config, {"messages": past})

    async def turn() -> None:
        result = await app.ainvoke({"messages": [HumanMessage(ASKED)]}, config)
        assert result["messages"][-1].content == ANSWER

    return turn


LOOPS: dict[str, tuple[Callable[[str, int, Path], Awaitable[Turn]], dict[str, str]]] = {
    "quire": (
        quire,
        {
            ALL: "payload, receipt; the log is in memory",
            CUT: "the same; the log stays whole, and what was cut can be shown again",
            KEPT: "the same; each message and receipt is committed before the turn goes on",
        },
    ),
    "openai-agents": (
        openai_agents,
        {
            ALL: "`Runner.run` on a list",
            KEPT: "`SQLiteSession` on a file: reads all of it in each turn; cuts by count only",
        },
    ),
    "pydantic-ai": (pydantic_ai, {ALL: "`Agent.run` on a list; bare model; cannot cut or keep by itself"}),
    "pydantic-ai-harness": (
        pydantic_ai,
        {
            CUT: "`SlidingWindowCompaction`; what it cuts is gone from the history of the next turn",
            KEPT: "`StepPersistence`, `SqliteStepStore`: snapshots that refer to each message",
        },
    ),
    "langgraph": (
        langgraph,
        {ALL: "a graph of one node, `InMemorySaver`; its SQLite saver is not installed"},
    ),
}
"""By library: its loop, and what it does in each way that it has."""


Times = list[tuple[float, float]]
"""Of each turn its CPU time and its time, in milliseconds."""


async def times_of(name: str, way: str, size: int, turns: int) -> Times:
    """Take some turns, after a few to warm up."""
    taken: Times = []
    with TemporaryDirectory() as folder:
        turn = await LOOPS[name][0](way, size, Path(folder))
        for _ in range(5):
            await turn()
        for _ in range(turns):
            cpu, began = process_time(), perf_counter()
            await turn()
            taken.append((1e3 * (process_time() - cpu), 1e3 * (perf_counter() - began)))
    return taken


def measured(options: argparse.Namespace) -> dict[str, dict[str, Times]]:
    """By way and library: the times of all turns; each round in a process of its own."""
    found: dict[str, dict[str, Times]] = {}
    rows = [(way, name) for way in (ALL, CUT, KEPT) for name, (_, ways) in LOOPS.items() if way in ways]
    for way, name in rows * options.rounds:
        if name != "quire" and not options.peers:
            continue
        page.progress(f"{way}: {name}")
        python = sys.executable if name == "quire" else options.peers
        command = [python, __file__, "--one", name, way, "--size", str(options.size)]
        command += ["--turns", str(options.turns)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{name}: {done.stderr.strip().splitlines()[-1]}")
        found.setdefault(way, {}).setdefault(name, []).extend(json.loads(done.stdout.splitlines()[-1]))
    return found


def as_text(found: dict[str, dict[str, Times]]) -> str:
    """The figures as a table."""
    rows: list[tuple[object, ...]] = []
    for way, libraries in found.items():
        best = {name: [min(times) for times in zip(*some, strict=True)] for name, some in libraries.items()}
        for name, (cpu, wall) in best.items():
            rows.append((way, name, LOOPS[name][1][way], cpu, wall, cpu / best["quire"][0]))
    head = ("history", "library", "what a turn does", "CPU ms", "ms", "CPU, times ours")
    return page.table(head, rows, left=3)


def main() -> None:
    parser = page.options(__doc__)
    parser.add_argument("--peers", help="the Python of the environment that the others are in")
    parser.add_argument("--size", type=int, default=1_000)
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", nargs=2, metavar=("LIBRARY", "WAY"), help="in this process")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(asyncio.run(times_of(*options.one, options.size, options.turns))))
        return
    found = measured(options)
    page.report(options, {"loop": as_text(found)}, found)


if __name__ == "__main__":
    main()
