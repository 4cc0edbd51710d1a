"""Laws: whatever is done by programs, tools and models, and in whatever order, `main` stays whole."""

from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from quire.bridges.a1 import Runtime, Strategy
from quire.errors import QuireError
from quire.programs import ProgramFailed, ProgramFault
from quire.providers import PROVIDERS
from tests.bridges.a1.coded import (
    ASKING,
    BROKEN,
    CALLING,
    CATCHING,
    PLAIN,
    llm,
    multiply,
    run,
    seller,
    writing,
)
from tests.bridges.a1.talks import is_paired

pytestmark = pytest.mark.laws

PROGRAMS = [PLAIN, CALLING, CATCHING, ASKING, f"await multiply(a=1, b=1)\n{BROKEN}"]
ONE = Strategy(num_candidates=1, max_iterations=1)

Deed = Callable[[Runtime, str], Coroutine[Any, Any, Any]]


async def jit(runtime: Runtime, program: str) -> None:
    with suppress(ProgramFailed):
        await runtime.jit(seller(multiply, llm("ten")), lamps=3)


async def call_compiled(runtime: Runtime, program: str) -> None:
    compiled = await runtime.aot(seller(multiply, llm("ten")), cache=False)
    with suppress(ProgramFault):
        await compiled(lamps=3)


async def execute_compiled(runtime: Runtime, program: str) -> None:
    compiled = await runtime.aot(seller(multiply, llm("ten")), cache=False)
    with suppress(ProgramFault):
        await compiled.execute(lamps=3)


async def execute(runtime: Runtime, program: str) -> None:
    with suppress(ValueError):
        await runtime.execute(multiply, a=-1 if program == CATCHING else 1, b=1)


async def ask(runtime: Runtime, program: str) -> None:
    with suppress(QuireError):
        await llm("ten")("What is five lamps?", context=runtime.get_context())


async def clear(runtime: Runtime, program: str) -> None:
    runtime.get_context().clear()


deeds = st.tuples(
    st.sampled_from([jit, call_compiled, execute_compiled, execute, ask, clear]), st.sampled_from(PROGRAMS)
)


@settings(max_examples=max(10, settings().max_examples // 10))
@given(st.lists(deeds, min_size=1, max_size=5))
def test_main_is_whole_after_anything(done: list[tuple[Deed, str]]) -> None:
    async def all_of_it() -> None:
        first = writing(PLAIN)
        for deed, program in done:
            first.generate = writing(program, strategy=ONE).generate
            first.strategy = ONE
            before = first.get_context().messages
            with first:
                await deed(first, program)
            main = first.get_context()
            is_failed = program == PROGRAMS[-1] and deed in (jit, call_compiled, execute_compiled)
            assert deed is clear or (
                main.messages == before if is_failed else main.messages[: len(before)] == before
            )
            assert is_paired(main)
            for provider in PROVIDERS.values():
                assert provider.check(provider.render(main.view).payload) == []
            ids = [message.message_id for message in first.get_full_context()]
            assert len(ids) == len(set(ids))

    run(all_of_it())
