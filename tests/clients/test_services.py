"""Models by name ask a server that others wrote: llama.cpp's, with a real model, which speaks three wires."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator

import pytest

from quire.items import Item, Message, ToolCall, ToolResult
from quire.models import Model
from quire.providers import PROVIDERS, Parsed
from tests.models.answerers import NEEDS_LOCAL, text_of, weights

HISTORIES: list[list[Item]] = [
    [Message("system", "Be brief."), Message("user", "Say hi.")],
    [
        Message("user", "Look both up."),
        *(ToolCall(one, "look_up", '{"q": "a"}') for one in ("call-1", "call:2|é")),
        *(ToolResult(one, "look_up", "found") for one in ("call:2|é", "call-1")),
    ],
    [ToolResult("gone", "look_up", "late"), Message("user", "Say hi.")],
]

_SERVER = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx, params.n_parallel, params.warmup = 2048, 1, False
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The process ends with its standard input, whatever happens to us."""
    command = [sys.executable, "-c", _SERVER, str(weights())]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.kill()


@NEEDS_LOCAL
@pytest.mark.parametrize(
    "wire",
    ["openai", *(pytest.param(wire, marks=pytest.mark.fuzz) for wire in ("openai-responses", "anthropic"))],
)
def test_a_real_model_answers(wire: str, address: str) -> None:
    base_url = address if wire == "anthropic" else f"{address}/v1"

    async def answers() -> list[Parsed]:
        async with Model(f"{wire}:small", base_url=base_url, timeout=300) as model:
            found = [await model.ask(history, max_tokens=9) for history in HISTORIES]
            return [*found, await model.stream(HISTORIES[0], max_tokens=9).whole()]

    found = asyncio.run(answers())
    assert any(map(text_of, found)), "a small model may say nothing to one of them"
    for parsed in found:
        assert parsed.usage is not None and parsed.usage.input > 0
        again = PROVIDERS[wire].render([*parsed.items, Message("user", "go on")])
        assert PROVIDERS[wire].check(again.payload) == []
