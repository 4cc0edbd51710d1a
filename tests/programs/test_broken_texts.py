"""Texts that cannot be written, such as names of files: programs are given them mended, and can go on."""

import os
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.agent import tool
from quire.programs import Task
from quire.programs.values import writable
from tests.programs.coding import coder_of, run

NAME = os.fsdecode(b"caf\xe9.txt")
HALVES = st.text(st.characters(categories=["Cs", "Lu", "Nd"]), max_size=4)
PLAIN = st.recursive(
    st.none() | st.integers() | HALVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(HALVES, inner, max_size=3),
    max_leaves=8,
)
CATCHING = "try:\n    output = str(await {call})\nexcept {kind} as fault:\n    output = f'caught {{fault}}'"


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("it cannot be said")


@tool
async def listed() -> list[Any]:
    """List names."""
    return ["a.txt", NAME, {NAME: 2**80}]


@tool
async def opened() -> str:
    """Open a file."""
    raise ValueError(f"cannot open {NAME}")


@tool
async def muted() -> str:
    """Fail without words."""
    raise Mute


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("listed()", "['a.txt', 'caf\ufffd.txt', {'caf\ufffd.txt': " + str(2**80) + "}]"),
        ("opened()", "caught cannot open caf\ufffd.txt"),
        ("muted()", "caught Mute"),
    ],
)
def test_a_program_is_given_what_can_be_written_of_it(call: str, expected: str) -> None:
    async def work() -> None:
        kind = "ValueError" if call == "opened()" else "Exception"
        code = CATCHING.format(call=call, kind=kind)
        task = Task("look", tools=[listed, opened, muted])
        assert (await coder_of(code, rounds=1).answer(task, input="")).value == expected

    run(work)


def test_so_it_is_with_what_a_task_is_given() -> None:
    async def work() -> None:
        assert (
            await coder_of("output = input", rounds=1).answer(Task("echo"), input=NAME)
        ).value == "caf\ufffd.txt"

    run(work)


@given(PLAIN)
def test_what_can_be_written_stays_as_it_is_and_all_else_is_mended_within(value: Any) -> None:
    mended = writable(value)
    str(mended).encode()
    assert writable(mended) == mended
    try:
        repr(value).encode()
        has_halves = "\\ud" in repr(value)
    except UnicodeEncodeError:
        has_halves = True
    assert has_halves or mended == value
