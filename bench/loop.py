"""What a loop itself costs a turn, with a model that answers at once: ours and others', in the same run.

Usage: python bench/loop.py [--peers PYTHON] [--size N] [--turns N] [--rounds N] [--json] [--page FILE]

Each library asks an agent on a history of 1,000 messages in memory, turn after turn; each round runs each of
them in a process of its own. What is told is the best turn of all rounds, and the median.
"""

import argparse
import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from statistics import median
from typing import Any

import page

ANSWER = "Fine, thank you."
ASKED = "hello there"
Turn = Callable[[], Awaitable[Any]]


def texts(size: int) -> list[tuple[str, str]]:
    """The history: roles and words in turn, of the same length for everybody."""
    words = [("user", f"question {n} " + "word " * 40) for n in range(size // 2)]
    said = [("assistant", f"answer {n} " + "word " * 60) for n in range(size // 2)]
    return [entry for pair in zip(words, said, strict=True) for entry in pair]


async def openai_agents(size: int) -> Turn:
    """OpenAI Agents: the list of the last result, and one more message."""
    from agents import Agent, ModelResponse, Runner, Usage, set_tracing_disabled
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

    async def turn() -> None:
        nonlocal history
        result = await Runner.run(agent, [*history, {"role": "user", "content": ASKED}])
        assert result.final_output == ANSWER
        history = result.to_input_list()

    return turn


async def pydantic_ai(size: int) -> Turn:
    """Pydantic AI: the messages of the last result as the history of the next."""
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart
    from pydantic_ai.models.function import FunctionModel

    async def answer(*_: Any) -> ModelResponse:
        return ModelResponse(parts=[TextPart(ANSWER)])

    agent = Agent(FunctionModel(answer), instructions="Be brief.")
    history: list[Any] = [
        ModelRequest(parts=[UserPromptPart(words)])
        if role == "user"
        else ModelResponse(parts=[TextPart(words)])
        for role, words in texts(size)
    ]

    async def turn() -> None:
        nonlocal history
        result = await agent.run(ASKED, message_history=history)
        assert result.output == ANSWER
        history = result.all_messages()

    return turn


async def langgraph(size: int) -> Turn:
    """LangGraph: a graph of one agent, with its checkpoints in memory."""
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


async def quire(size: int) -> Turn:
    """Quire: an agent on a session in memory, receipts and all."""
    from load import Instant
    from quire import Agent, Session
    from quire.items import Message
    from quire.stores import MemoryStore

    session = Session.open("bench/one", store=MemoryStore())
    session.append(*(Message(role, words) for role, words in texts(size)))  # type: ignore[arg-type]
    agent = Agent(session, model=Instant(ANSWER), instructions="Be brief.")

    async def turn() -> None:
        assert str(await agent.ask(ASKED)) == ANSWER

    return turn


LOOPS: dict[str, Callable[[int], Awaitable[Turn]]] = {
    "quire": quire,
    "openai-agents": openai_agents,
    "pydantic-ai": pydantic_ai,
    "langgraph": langgraph,
}


async def seconds_of(name: str, size: int, turns: int) -> list[float]:
    """Seconds of each of some turns, after a few to warm up."""
    clock = asyncio.get_running_loop().time
    turn = await LOOPS[name](size)
    for _ in range(5):
        await turn()
    taken: list[float] = []
    for _ in range(turns):
        began = clock()
        await turn()
        taken.append(clock() - began)
    return taken


def measured(python: str, name: str, size: int, turns: int) -> list[float]:
    """The seconds of one library's turns, in a process of its own."""
    command = [python, __file__, "--one", name, "--size", str(size), "--turns", str(turns)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr.strip().splitlines()[-1]}")
    return [float(one) for one in json.loads(done.stdout.splitlines()[-1])]


def as_text(found: dict[str, list[float]], size: int) -> str:
    """The figures as a table."""
    ours = min(found["quire"])
    rows = [(name, 1e3 * min(some), 1e3 * median(some), min(some) / ours) for name, some in found.items()]
    head = ("library", "best ms a turn", "median", "times ours")
    return f"A turn on {size:,} messages in memory:\n\n{page.table(head, rows)}"


def main() -> None:
    parser = page.options(__doc__)
    parser.add_argument("--peers", help="the Python of the environment that the others are in")
    parser.add_argument("--size", type=int, default=1_000)
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", choices=LOOPS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(asyncio.run(seconds_of(given.one, given.size, given.turns))))
        return
    names = [name for name in LOOPS if name == "quire" or given.peers]
    found: dict[str, Any] = {name: [] for name in names}
    for _ in range(given.rounds):
        for name in names:
            python = sys.executable if name == "quire" else given.peers
            found[name] += measured(python, name, given.size, given.turns)
    page.report(given, {"loop": as_text(found, given.size)}, found)


if __name__ == "__main__":
    main()
