"""Runtimes: which one is at work, and that each keeps to itself."""

import asyncio
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from quire.bridges.a1 import Context, Runtime, get_context, get_full_context, get_runtime, set_runtime
from quire.bridges.a1.context import Compact, TruncateOldest
from quire.bridges.a1.llm import no_context
from quire.errors import InvalidValue
from tests.bridges.a1.talks import said


def test_runtimes_do_not_see_each_other() -> None:
    one, two = Runtime(), Runtime()
    with one:
        get_context("main").user("of one")
    with two:
        assert len(get_context("main")) == 0
        get_context("main").user("of two")
    assert said(one.CTX["main"]) == ["of one"] and said(two.CTX["main"]) == ["of two"]
    assert one.CTX["main"] is not two.CTX["main"]


def test_a_context_is_the_same_whenever_it_is_asked_for(runtime: Runtime) -> None:
    assert get_context() is get_context("main") is runtime.CTX["main"]
    assert get_context("analysis") is not get_context("main")


def test_contexts_of_one_runtime_do_not_mix(runtime: Runtime) -> None:
    get_context("main").user("a")
    get_context("analysis").user("b")
    get_context("analysis").clear()
    get_context("debug")
    counts = {name: len(context) for name, context in runtime.CTX.items()}
    assert counts == {"main": 1, "analysis": 0, "debug": 0}


def test_entering_nests_and_leaves_as_it_was(runtime: Runtime) -> None:
    inner = Runtime()
    with inner as entered:
        assert get_runtime() is inner is entered
        with inner, Runtime() as third:
            assert get_runtime() is third
        assert get_runtime() is inner
        set_runtime(third)
        assert get_runtime() is third
    assert get_runtime() is runtime


def test_several_tasks_may_enter_one_runtime_at_a_time(runtime: Runtime) -> None:
    shared = Runtime()

    async def work(name: str) -> None:
        with shared:
            await asyncio.sleep(0.001)
            get_context(name).user(name)
            await asyncio.sleep(0.001)
        assert get_runtime() is runtime

    async def all_of_them() -> None:
        await asyncio.gather(*(work(f"task_{n}") for n in range(5)))

    asyncio.run(all_of_them())
    assert {name: said(context) for name, context in shared.CTX.items()} == {
        f"task_{n}": [f"task_{n}"] for n in range(5)
    }


def test_a_default_is_made_when_first_asked_for_and_shared_by_siblings() -> None:
    code = """
import asyncio, threading
from quire.bridges.a1 import get_context, get_runtime
async def one(): get_context().user("from a task"); return get_runtime()
async def both(): return await asyncio.gather(asyncio.create_task(one()), asyncio.create_task(one()))
first, second = asyncio.run(both())
thread = threading.Thread(target=lambda: get_context().user("from a thread"))
thread.start(); thread.join()
assert first is second is get_runtime() and len(get_context()) == 3
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_thread_has_no_runtime_of_another(runtime: Runtime) -> None:
    found: list[Runtime] = []
    thread = Thread(target=lambda: found.append(get_runtime()))
    thread.start()
    thread.join()
    assert found[0] is not runtime


def test_all_contexts_are_listed_and_the_list_is_not_to_be_changed(runtime: Runtime) -> None:
    assert dict(runtime.CTX) == {} and repr(runtime) == "<Runtime of 0 contexts>"
    get_context("main").user("x")
    assert list(runtime.CTX) == ["main"] and "other" not in runtime.CTX
    with pytest.raises(TypeError):
        runtime.CTX["main"] = Context()  # type: ignore[index]  # pyright: ignore


@pytest.mark.parametrize("name", ["", ".pool", "main~2", "line\nbreak"])
def test_names_that_the_engine_needs_are_refused(name: str) -> None:
    with pytest.raises(InvalidValue):
        get_context(name)


def test_nothing_is_made_of_what_programs_need_until_they_need_it(tmp_path: Path) -> None:
    runtime = Runtime(generate="openai:gpt-5.6", cache_dir=tmp_path / "there")
    assert runtime.generate == "openai:gpt-5.6" and (runtime.verify, runtime.cost) == ((), None)
    assert runtime.cache_dir == tmp_path / "there" and not runtime.cache_dir.exists()
    assert runtime.get_full_context() == []


def test_a1s_own_modules_have_their_names() -> None:
    assert issubclass(TruncateOldest, Compact) and len(no_context()) == 0
    get_context().user("x")
    assert [message.content for message in get_full_context()] == ["x"]
