"""Claude Code, Codex and the AI SDK themselves take what is written for them, with a service on 127.0.0.1.

They are downloaded from npm, and are not part of Quire. What a program sends after it resumed a file must
have all of the conversation, in its order.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

from quire.integrations.logs import Target, Written, read_log, write_conversation
from quire.items import Item, Message, ToolCall, ToolResult
from quire.state import Transcript
from tests.clients.scenes import Exchange, stage
from tests.clients.speaking import send
from tests.integrations.owners import CACHE, NEEDS_OWNERS
from tests.integrations.test_logs import WITH_WRITER, read, row
from tests.providers.replies import Call, Reply, events

PACKAGES = ("@anthropic-ai/claude-code@2.1.197", "@openai/codex@0.169.0", "ai@6.0.326", "zod@4.1.13")
INSTRUCTING = ("system", "developer")
NPM = CACHE / "npm"

pytestmark = NEEDS_OWNERS


@pytest.fixture(scope="module")
def modules() -> Path:
    """The folder of the packages, downloaded once."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("npm and node are not installed")
    NPM.mkdir(parents=True, exist_ok=True)
    quiet = ("--no-audit", "--no-fund", "--ignore-scripts")
    install = ["npm", "install", "--prefix", str(NPM), *quiet, *PACKAGES]
    done = subprocess.run(install, check=False, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"npm cannot install the programs: {done.stderr[-300:]}")
    return NPM / "node_modules"


class Upstream:
    """Gives its answers in turn, as Anthropic and as OpenAI do, and keeps the requests."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.answers: list[Reply] = []

    def answer(self, exchange: Exchange) -> None:
        body, path = exchange.body, exchange.path.partition("?")[0]
        if not path.endswith(("/messages", "/responses")) or not body.get("tools"):
            exchange.answer({})  # counts, telemetry, and titles of sessions
            return
        self.requests.append(body)
        wire = "anthropic" if path.endswith("/messages") else "openai-responses"
        told = events(wire, self.answers.pop(0))
        whole = told[0]["message"] if wire == "anthropic" else told[-1]["response"]
        whole["id"], whole["usage"]["total_tokens"] = f"reply_{len(self.requests)}", 47
        send(wire, exchange, told)


class Machine:
    """A home folder and a project of its own, with both programs, and what they last sent."""

    def __init__(self, folder: Path, modules: Path, upstream: Upstream, url: str) -> None:
        self.home, self.project, self.upstream = folder / "home", folder / "project", upstream
        for made in (self.home / ".codex", self.project):
            made.mkdir(parents=True)
        self._modules, provider = modules, f'name = "own"\nbase_url = "{url}/v1"\nwire_api = "responses"\n'
        settings = f'model = "gpt-5.2-codex"\nmodel_provider = "own"\n[model_providers.own]\n{provider}'
        (self.home / ".codex" / "config.toml").write_text(settings)
        off = ("DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC")
        self._environment = {"HOME": str(self.home), "PATH": os.environ["PATH"], **dict.fromkeys(off, "1")}
        self._environment |= {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none"}

    def claude(self, words: str, *options: str) -> dict[str, Any]:
        """Ask Claude Code, and return the last request that it sent."""
        wrapper = str(self._modules / "@anthropic-ai" / "claude-code" / "cli-wrapper.cjs")
        return self._run("node", wrapper, "-p", words, "--allowedTools", "Read", *options)

    def codex(self, words: str, *options: str) -> dict[str, Any]:
        """Ask Codex, and return the last request that it sent."""
        command = str(self._modules / ".bin" / "codex")
        unsafe = "--dangerously-bypass-approvals-and-sandbox"  # it runs `cat`, as this test says
        return self._run(command, "exec", *options, "--skip-git-repo-check", unsafe, words)

    def _run(self, *command: str) -> dict[str, Any]:
        before = len(self.upstream.requests)
        done = subprocess.run(
            command,
            cwd=self.project,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            check=False,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert len(self.upstream.requests) > before, done.stderr
        return self.upstream.requests[-1]

    def place(self, written: Written) -> str:
        """Put a file where its hint says, and return the id of the session."""
        where = written.hint.split(" ")[3].rstrip(",").replace("~", str(self.home))
        Path(where).parent.mkdir(parents=True, exist_ok=True)
        Path(where).write_text("".join(json.dumps(line) + "\n" for line in written.content))
        return written.hint.split(" ")[-1]

    def items(self, pattern: str) -> list[Item]:
        """The conversation in the newest file of a pattern."""
        newest = max(self.home.glob(pattern), key=lambda path: path.stat().st_mtime)
        log = read_log([json.loads(line) for line in newest.read_text().splitlines()])
        assert log is not None
        return log.conversations[0].items()

    def target(self, address: str) -> Target:
        return Target(address, str(self.project))


@pytest.fixture
def machine(tmp_path: Path, modules: Path) -> Generator[Machine]:
    with stage() as server:
        upstream = Upstream()
        yield Machine(tmp_path, modules, upstream, server.scene(upstream.answer).base_url)


def said(items: Sequence[Item]) -> list[str]:
    """What a request must hold of the items, in their order."""
    found = list[str]()
    for item in items:
        if isinstance(item, Message | ToolResult) and getattr(item, "role", "") not in INSTRUCTING:
            found += [part for part in item.parts if isinstance(part, str)]
        elif isinstance(item, ToolCall):
            found.append(item.call_id)
    return found


def missing(request: dict[str, Any], wanted: Sequence[str]) -> list[str]:
    """What of some texts does not stand in a request, one after the other."""
    body, at, lost = json.dumps(request.get("messages") or request["input"]), 0, list[str]()
    for text in wanted:
        found = body.find(json.dumps(text)[1:-1], at)
        if found < 0:
            lost.append(text)
        at = max(at, found)
    return lost


def test_a_session_moves_from_claude_code_to_codex_and_back(machine: Machine) -> None:
    lamps = machine.project / "lamps.csv"
    lamps.write_text("hall,35\ndesk,49\n")
    machine.upstream.answers = [
        Reply(calls=(Call("call_1", "Read", {"file_path": str(lamps)}),)),
        Reply(text="The desk lamp costs 49."),
    ]
    machine.claude("What does the desk lamp cost?")
    first = machine.items(".claude/projects/*/*.jsonl")
    assert missing({"input": str(first)}, ["desk,49", "The desk lamp costs 49."]) == []

    session = machine.place(write_conversation(first, "codex", machine.target("ana/lamps")))
    machine.upstream.answers = [
        Reply(calls=(Call("call_2", "exec_command", {"cmd": "cat lamps.csv"}),)),
        Reply(text="The hall lamp costs 35."),
    ]
    request = machine.codex("And the hall lamp?", "resume", session)
    assert missing(request, [*said(first), "And the hall lamp?", "hall,35"]) == []

    second = machine.items(".codex/sessions/*/*/*/*.jsonl")
    assert missing({"input": str(second)}, ["The desk lamp costs 49.", "The hall lamp costs 35."]) == []
    back = machine.place(write_conversation(second, "claude-code", machine.target("ana/back")))
    machine.upstream.answers = [Reply(text="Both cost 84.")]
    request = machine.claude("And both?", "--resume", back)
    assert missing(request, [*said(second), "And both?"]) == []
    third = machine.items(f".claude/projects/*/{back}.jsonl")
    texts = [item.text for item in third if isinstance(item, Message)]
    assert {"The desk lamp costs 49.", "The hall lamp costs 35.", "Both cost 84."} <= {*texts}


@pytest.mark.parametrize("name", WITH_WRITER)
@pytest.mark.parametrize("program", ["claude-code", "codex"])
def test_a_log_of_each_format_is_resumed(machine: Machine, program: str, name: str) -> None:
    items = read(name).conversations[0].items()
    written = write_conversation(items, program, machine.target(f"ana/{name}"))
    machine.upstream.answers = [Reply(text="Good.")]
    session = machine.place(written)
    ask = machine.claude if program == "claude-code" else machine.codex
    request = ask("Go on.", *(("--resume",) if program == "claude-code" else ("resume",)), session)
    left_out = {one.item_id for one in written.downgrades if one.change == "call_left_out"}
    log = read_log(list(written.content))
    assert log is not None
    shown = Transcript(log.conversations[0].items()).view
    assert missing(request, said([item for item in shown if item.id not in left_out])) == []


AI_SDK = """
import { readFileSync } from "node:fs";
import { convertToModelMessages, modelMessageSchema, validateUIMessages } from "ai";
const { messages } = JSON.parse(readFileSync(0, "utf8"));
const valid = await validateUIMessages({ messages });
const model = await convertToModelMessages(valid);
model.forEach((message) => modelMessageSchema.parse(message));
console.log(JSON.stringify(model));
"""


@pytest.mark.parametrize("name", WITH_WRITER)
def test_the_ai_sdk_takes_messages_and_makes_a_request_of_them(modules: Path, name: str) -> None:
    items = read(name).conversations[0].items()
    written = write_conversation(items, "ai-sdk", Target("ana/lamps", whole=False))
    script = modules.parent / "take.mjs"
    script.write_text(AI_SDK)
    text = json.dumps(written.content)
    done = subprocess.run(["node", str(script)], check=False, input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    sent, stored = read_log(json.loads(done.stdout)), read_log([written.content])
    assert sent is not None and stored is not None
    rows = [[row(item, set())[:-1] for item in one.conversations[0].items()] for one in (sent, stored)]
    assert rows[0] == rows[1] and len(rows[0]) >= 2
