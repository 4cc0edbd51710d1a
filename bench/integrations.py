"""A long conversation with tools inside other frameworks, with and without Quire.

Usage: python bench/integrations.py [--only NAME ...] [--turns N] [--window N] [--json] [--page FILE]

In each turn a model that follows a script calls a tool five times, one call after the other, and then
answers: 40 turns, 200 calls. An output has some 400 tokens; one has more than the window. In the middle of a
call in the middle of the conversation the process is killed. Another process opens what was kept, and the
user asks the last question again, unless the framework goes on with the turn that was cut off.

- Without Quire, a framework keeps its history with what its owners ship: OpenAI Agents in `SQLiteSession`,
  LangChain in `SqliteSaver` (a package of its own, `langgraph-checkpoint-sqlite`). Pydantic AI ships nothing
  that outlives the process: its messages are written to a file as JSON after each turn.
- With Quire, it has the integration, as its page shows it.

Every request is written down as it reaches the model. `refused` are those that break a rule of the provider,
by `quire.providers.check`; `too long` are those above the window. Tokens are those of the JSON of a message.
Cached is the longest beginning that a request shares with the one before it. `lost` are outputs that a tool
has returned and that are in nothing that was kept. The time is CPU time without the model, the tool and the
start of the process.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from functools import cache
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import page
from quire.items import Message, ToolResult
from quire.providers import check
from quire.session import Session
from quire.tokens import counter_for

CALLS = 5
MODEL = "gpt-5.6"
NAME = "shop-1"
INSTRUCTIONS = "You help the people of a shop. Look up what you do not know. " * 8
ABOUT = "Look an order up."
WORDS = (
    "order",
    "paid",
    "parcel",
    "customer",
    "returned",
    "invoice",
    "Berlin",
    "Lyon",
    "open",
    "tax",
    "stock",
)

Json = dict[str, Any]


# The conversation


def question(turn: int) -> str:
    return f"Question {turn}: what about the orders of day {turn}?"


def step(asked: str, found: int) -> tuple[str, str | None]:
    """The next step of the model: the id of a call, or an answer."""
    turn = asked.removesuffix(" (again)").split(":")[0].split()[1]
    once_more = "b" if asked.endswith("(again)") else "a"
    return (
        (f"call_{turn}_{found}_{once_more}", None) if found < CALLS else ("", f"All of day {turn} is well.")
    )


def output(call_id: str, huge: bool, window: int) -> str:
    """What the tool returns: some 400 tokens, or more than the window has."""
    chance = random.Random(call_id)
    return " ".join(chance.choice(WORDS) for _ in range(2 * window if huge else 380))


@cache
def tokens(text: str) -> int:
    return counter_for(MODEL).count(Message("user", text))


def written(message: object) -> str:
    return json.dumps(message, ensure_ascii=False, sort_keys=True)


class Run:
    """One process of one case: what the model is sent, what the tool returned, and the time it takes."""

    def __init__(self, folder: Path, turns: int, window: int, dies: bool) -> None:
        self.folder, self.turns, self.window, self.dies = folder, turns, window, dies
        self.requests, self.returned = folder / "requests.jsonl", folder / "returned.txt"
        self.away = 0.0

    def answer(self, wire: str, messages: list[Json], asked: str, found: int) -> tuple[str, str | None, int]:
        """Write a request down, and return the next step and the tokens of the request."""
        began = process_time()
        with self.requests.open("a") as file:
            file.write(json.dumps([wire, messages]) + "\n")
        size = tokens(INSTRUCTIONS) + sum(tokens(written(one)) for one in messages)
        self.away += process_time() - began
        return (*step(asked, found), size)

    def look(self, call_id: str) -> str:
        """The tool."""
        began = process_time()
        _, turn, number, _ = call_id.split("_")
        if self.dies and (int(turn), int(number)) == (self.turns // 2, CALLS // 2):
            os.kill(os.getpid(), signal.SIGKILL)
        text = output(call_id, call_id == f"call_{self.turns // 4}_1_a", self.window)
        with self.returned.open("a") as file:
            file.write(call_id + "\n")
        self.away += process_time() - began
        return text

    def questions(self, resumes: bool = False) -> list[str | None]:
        """What the user says in this process; `None` where the turn that was cut off goes on."""
        middle = self.turns // 2
        if self.dies:
            return [question(turn) for turn in range(middle + 1)]
        again = None if resumes else f"{question(middle)} (again)"
        return [again, *map(question, range(middle + 1, self.turns))]


# The frameworks


async def pydantic_ai(run: Run, quire: bool, kept: Path) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.usage import RequestUsage

    def model(messages: list[Any], info: Any) -> ModelResponse:
        chat = pydantic_chat(messages)
        call_id, text, size = run.answer("openai", chat, *asked_in(chat))
        part = TextPart(text) if text else ToolCallPart("look", {"call": call_id}, call_id)
        return ModelResponse([part], usage=RequestUsage(input_tokens=size, output_tokens=30))

    capabilities, history = [], []
    if quire:
        from quire.integrations.pydantic_ai import QuireCapability

        capabilities = [QuireCapability(run.window, kept / "quire.db")]
        history = capabilities[0].messages(NAME)
    elif (kept / "messages.json").exists():
        history = ModelMessagesTypeAdapter.validate_json((kept / "messages.json").read_bytes())
    agent = Agent(FunctionModel(model), instructions=INSTRUCTIONS, capabilities=capabilities)
    agent.tool_plain(lambda call: run.look(call), name="look", description=ABOUT)
    for asked in run.questions(resumes=quire):
        result = await agent.run(asked, message_history=history, conversation_id=NAME)
        history = result.all_messages()
        if not quire:
            (kept / "messages.json").write_bytes(result.all_messages_json())


def pydantic_chat(messages: Iterable[Any]) -> list[Json]:
    """Messages of Pydantic AI as those of OpenAI's chat API."""
    chat: list[Json] = []
    for message in messages:
        calls = [part for part in message.parts if part.part_kind == "tool-call"]
        texts = [part.content for part in message.parts if part.part_kind == "text"]
        if message.kind == "response":
            said: Json = {"role": "assistant", "content": "\n".join(texts)}
            if calls:
                said["tool_calls"] = [chat_call(one.tool_call_id, one.args_as_json_str()) for one in calls]
            chat.append(said)
        for part in message.parts:
            if part.part_kind == "tool-return":
                text = part.model_response_str()
                chat.append({"role": "tool", "tool_call_id": part.tool_call_id, "content": text})
            elif part.part_kind == "user-prompt":
                chat.append({"role": "user", "content": part.content})
    return chat


def chat_call(call_id: str, arguments: str) -> Json:
    return {"id": call_id, "type": "function", "function": {"name": "look", "arguments": arguments}}


async def langchain(run: Run, quire: bool, kept: Path) -> None:
    from langchain.agents import create_agent
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessage, convert_to_openai_messages
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.tools import StructuredTool

    class Model(BaseChatModel):
        """A model that follows the script."""

        @property
        def _llm_type(self) -> str:
            return "script"

        def bind_tools(self, tools: Any, **_: Any) -> Any:
            return self

        def _generate(self, messages: list[Any], *_: Any, **__: Any) -> ChatResult:
            chat = [one for one in convert_to_openai_messages(messages) if one["role"] != "system"]
            call_id, text, size = run.answer("openai", chat, *asked_in(chat))
            calls = [] if text else [{"name": "look", "args": {"call": call_id}, "id": call_id}]
            usage = {"input_tokens": size, "output_tokens": 30, "total_tokens": size + 30}
            answer = AIMessage(text or "", tool_calls=calls, usage_metadata=usage)
            return ChatResult(generations=[ChatGeneration(message=answer)])

    with ExitStack() as stack:
        middleware: list[Any] = []
        if quire:
            from quire.integrations.langchain import QuireMiddleware
            from quire.integrations.langgraph import QuireSaver

            middleware = [QuireMiddleware(run.window, kept / "quire.db")]
            saver: Any = QuireSaver(kept / "quire.db")
        else:
            saver = stack.enter_context(sqlite_saver(kept))
        agent = create_agent(
            Model(),
            [StructuredTool.from_function(lambda call: run.look(call), name="look", description=ABOUT)],
            system_prompt=INSTRUCTIONS,
            middleware=middleware,
            checkpointer=saver,
        )
        thread: Any = {"configurable": {"thread_id": NAME}}
        for asked in run.questions():
            agent.invoke({"messages": [("user", asked)]}, thread, durability="sync")


def sqlite_saver(kept: Path) -> Any:
    """The saver that LangGraph's owners ship for SQLite."""
    from langgraph.checkpoint.sqlite import SqliteSaver

    return SqliteSaver.from_conn_string(str(kept / "checkpoints.db"))


async def openai_agents(run: Run, quire: bool, kept: Path) -> None:
    from agents import (
        Agent,
        FunctionTool,
        Model,
        ModelResponse,
        RunConfig,
        Runner,
        SQLiteSession,
        Usage,
        set_tracing_disabled,
    )
    from agents.testing import assistant_message, function_call

    set_tracing_disabled(True)

    class Script(Model):
        """A model that follows the script."""

        async def get_response(self, *_: Any, **asked_for: Any) -> ModelResponse:
            given = asked_for["input"]
            asked = next(one for one in reversed(given) if one.get("role") == "user")
            after = given[given.index(asked) :]
            found = sum(one.get("type") == "function_call_output" for one in after)
            call_id, text, size = run.answer("openai-responses", given, asked["content"], found)
            called = function_call("look", {"call": call_id}, call_id=call_id)
            answer = assistant_message(text) if text else called
            answer = answer.model_copy(update={"id": f"msg_{size}" if text else f"fc_{call_id}"})
            usage = Usage(requests=1, input_tokens=size, output_tokens=30, total_tokens=size + 30)
            return ModelResponse(output=[answer], usage=usage, response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    async def look(context: Any, arguments: str) -> str:
        return run.look(json.loads(arguments)["call"])

    schema = {"type": "object", "properties": {"call": {"type": "string"}}, "required": ["call"]}
    tools = [FunctionTool("look", ABOUT, schema, look, strict_json_schema=False)]
    more: Json = {"session": SQLiteSession(NAME, kept / "session.db")}
    if quire:
        from quire.integrations.openai_agents import QuireSession

        session = QuireSession(NAME, run.window, kept / "quire.db")
        tools.append(session.read_back)
        config = RunConfig(call_model_input_filter=session.context_filter)
        more = {"session": session, "hooks": session, "run_config": config}
    agent = Agent("shop", instructions=INSTRUCTIONS, model=Script(), tools=tools)
    for asked in run.questions():
        await Runner.run(agent, asked, **more)


def asked_in(chat: list[Json]) -> tuple[str, int]:
    """The last question, and how many results came after it."""
    roles = [message["role"] for message in chat]
    last = len(roles) - 1 - roles[::-1].index("user")
    return chat[last]["content"], roles[last:].count("tool")


FRAMEWORKS: dict[str, Callable[[Run, bool, Path], Any]] = {
    "OpenAI Agents": openai_agents,
    "LangChain": langchain,
    "Pydantic AI": pydantic_ai,
}


# A case, and what it left


def child(options: argparse.Namespace) -> None:
    """One process of a case: the first half, in which it dies, or the second."""
    name, way, half, folder = options.child
    kept = Path(folder, "kept")
    run = Run(Path(folder), options.turns, options.window, half == "first")
    work = FRAMEWORKS[name](run, way == "with", kept)
    began = process_time()
    asyncio.run(work)
    spent = process_time() - began - run.away
    print(json.dumps({"ms": 1e3 * spent / len(run.questions())}))


def case(options: argparse.Namespace, name: str, way: str) -> Json:
    page.progress(f"{name}, {way} Quire")
    with TemporaryDirectory() as folder:
        Path(folder, "kept").mkdir()
        sizes = ["--turns", str(options.turns), "--window", str(options.window)]
        command = [sys.executable, __file__, *sizes, "--child", name, way]
        first = subprocess.run([*command, "first", folder], capture_output=True, text=True, check=False)
        if first.returncode != -signal.SIGKILL:
            raise SystemExit(first.stderr)
        second = subprocess.run([*command, "second", folder], capture_output=True, text=True, check=False)
        if second.returncode:
            raise SystemExit(second.stderr)
        figures = {"framework": name, "with": way == "with", **measured(Path(folder), options.window)}
        return figures | json.loads(second.stdout)


def measured(folder: Path, window: int) -> Json:
    """What the requests of a case and what it kept amount to."""
    refused = too_long = sent = cached = count = 0
    before: list[str] = []
    for line in (folder / "requests.jsonl").open():
        wire, messages = json.loads(line)
        told = INSTRUCTIONS
        payload = {"model": MODEL, "input" if wire == "openai-responses" else "messages": messages}
        refused += bool(list(check(payload, wire)))
        texts = [written(message) for message in messages]
        sizes = [tokens(text) for text in texts]
        pairs = zip(before, texts, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        size = tokens(told) + sum(sizes)
        too_long += size > window
        sent += size
        cached += (tokens(told) if before else 0) + sum(sizes[:same])
        before, count = texts, count + 1
    kept = folder / "kept"
    found, returned = results_in(kept), (folder / "returned.txt").read_text().split()
    return {
        "requests": count,
        "refused": refused,
        "too_long": too_long,
        "sent": sent,
        "cached": cached / sent,
        "lost": sum(call_id not in found for call_id in returned),
        "bytes": sum(file.stat().st_size for file in kept.iterdir()),
    }


def results_in(kept: Path) -> set[str]:
    """The ids of the calls whose results were kept."""
    if (kept / "quire.db").exists():
        recorded = Session.open(NAME, store=kept / "quire.db").view().recorded()
        return {item.call_id for item in recorded if isinstance(item, ToolResult)}
    if (kept / "messages.json").exists():
        messages = json.loads((kept / "messages.json").read_text())
        parts = [part for message in messages for part in message["parts"]]
        return {part["tool_call_id"] for part in parts if part["part_kind"] == "tool-return"}
    if (kept / "session.db").exists():
        with closing(sqlite3.connect(kept / "session.db")) as connection:
            rows = connection.execute("SELECT message_data FROM agent_messages").fetchall()
        items = [json.loads(row[0]) for row in rows]
        return {item["call_id"] for item in items if item.get("type") == "function_call_output"}
    with sqlite_saver(kept) as saver:
        state = saver.get_tuple({"configurable": {"thread_id": NAME}}).checkpoint["channel_values"]
        return {one.tool_call_id for one in state["messages"] if one.type == "tool"}


def main() -> None:
    parser = page.options(__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", default=list(FRAMEWORKS), help="some frameworks")
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--window", type=int, default=64_000)
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options)
        return
    wanted = [(name, way) for name in options.only for way in ("without", "with")]
    if find_spec("langgraph.checkpoint.sqlite") is None and ("LangChain", "without") in wanted:
        page.progress("LangChain without Quire is left out: it needs langgraph-checkpoint-sqlite")
        wanted.remove(("LangChain", "without"))
    cases = [case(options, name, way) for name, way in wanted]
    head = [
        "",
        "",
        "requests",
        "refused",
        "too long",
        "lost",
        "tokens sent",
        "cached",
        "kept, kB",
        "ms a turn",
    ]
    rows = [
        [
            one["framework"],
            "with Quire" if one["with"] else "alone",
            *(one[name] for name in ("requests", "refused", "too_long", "lost")),
            f"{one['sent'] / 1e6:.2f} M",
            f"{100 * one['cached']:.1f} %",
            one["bytes"] // 1_000,
            one["ms"],
        ]
        for one in cases
    ]
    page.report(options, {"integrations": page.table(head, rows, left=2)}, cases)


if __name__ == "__main__":
    main()
