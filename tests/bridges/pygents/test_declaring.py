"""Declaring hooks: types, names, fixed arguments, one at a time."""

import asyncio
from typing import Any

import pytest

from quire.bridges.pygents import (
    ContextPool,
    ContextPoolHook,
    ContextQueue,
    ContextQueueHook,
    HookRegistry,
    UnregisteredHookError,
    hook,
)
from tests.bridges.pygents.writing import in_a_loop, kept, said


@in_a_loop
async def test_a_hook_can_still_be_called_and_says_what_it_is() -> None:
    @hook(ContextQueueHook.AFTER_APPEND)
    async def doubling(number: int) -> int:
        """Twice as much."""
        return 2 * number

    assert await doubling(4) == 8 and doubling.__name__ == "doubling" and doubling.__doc__ == "Twice as much."
    assert repr(doubling) == "<hook 'doubling' of after_append>"


def test_a_hook_has_a_type_or_several() -> None:
    with pytest.raises(ValueError, match="at least one"):
        hook([])
    wrong: Any
    for wrong in ("after_append", None, ["after_append"], [ContextQueueHook.AFTER_APPEND, 3], str):
        with pytest.raises(TypeError):
            hook(wrong)
    with pytest.raises(TypeError):
        hook(ContextQueueHook.AFTER_APPEND)("no function")  # type: ignore[arg-type]  # pyright: ignore


def test_a_name_belongs_to_one_hook() -> None:
    def declare() -> Any:
        @hook(ContextPoolHook.AFTER_ADD)
        async def telling(pool: object, item: object) -> None: ...

        return telling

    first = declare()
    HookRegistry.register(first)
    assert declare() is not first  # the same code again, as when a module is loaded again
    with pytest.raises(ValueError, match="'telling' already"):

        @hook(ContextPoolHook.AFTER_ADD)
        async def telling(pool: object, item: object) -> None: ...


def test_two_functions_without_names_are_not_one() -> None:
    hook(ContextPoolHook.AFTER_CLEAR)(lambda *told: None)
    with pytest.raises(ValueError, match="already"):
        hook(ContextPoolHook.AFTER_CLEAR)(lambda *told: 1)


def test_the_registry_takes_hooks_alone_and_names_what_it_does_not_know() -> None:
    with pytest.raises(TypeError):
        HookRegistry.register(print)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(UnregisteredHookError) as caught:
        HookRegistry.get("unheard_of")
    assert str(caught.value) == "no hook 'unheard_of' was declared here"


@in_a_loop
async def test_fixed_arguments_come_with_every_call_and_functions_are_asked_late() -> None:
    heard: list[tuple[int, str, int]] = []
    clock = iter(range(9))

    def tick() -> int:
        return next(clock)

    @hook(ContextQueueHook.BEFORE_APPEND, label="x", at=tick)
    async def telling(items: list[object], label: str, at: int) -> None:
        heard.append((len(items), label, at))

    queue = ContextQueue(limit=3, hooks=[telling])
    await queue.append(*said(1))
    await queue.append(*said(2))
    await telling([], label="given")
    assert heard == [(0, "x", 0), (1, "x", 1), (0, "given", 2)]


def test_a_fixed_argument_that_the_function_does_not_take_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="colour"):

        @hook(ContextQueueHook.BEFORE_APPEND, colour="red")
        async def telling(items: object) -> None: ...


@pytest.mark.parametrize("lock", [True, False])
def test_with_a_lock_a_hook_runs_once_at_a_time_in_any_loop(lock: bool) -> None:
    inside, most = 0, 0

    @hook(ContextPoolHook.AFTER_ADD, lock=lock)
    async def slow(pool: object, item: object) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0.001)
        inside -= 1

    async def several() -> None:
        pool = ContextPool(hooks=[slow])
        await asyncio.gather(*(pool.add(kept(str(n))) for n in range(4)))
        assert len(pool) == 4 and pool.failures == []

    for _ in range(2):
        asyncio.run(several())
    assert most == (1 if lock else 4)
