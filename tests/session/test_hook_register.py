"""Hooks by name: found again, told apart, declared again by code that is loaded again."""

from collections.abc import Callable
from typing import Any

import pytest

from quire.errors import InvalidValue, UnknownHook
from quire.session import Added, Hook
from quire.session.hooks import Register


def made(function: Callable[[Any], Any], name: str | None = None) -> Hook:
    return Hook(function, (Added,), name=name)


def declared_in_a_module() -> Hook:
    def telling(event: object) -> None: ...

    return made(telling)


def test_a_hook_is_found_by_its_name_until_the_register_is_cleared() -> None:
    register = Register[Hook]()
    one = register.declare(declared_in_a_module())
    assert register.named("telling") is one
    register.clear()
    with pytest.raises(UnknownHook, match="no hook 'telling'"):
        register.named("telling")


def test_the_same_code_again_takes_the_place_of_the_earlier() -> None:
    register = Register[Hook]()
    register.declare(declared_in_a_module())
    again = register.declare(declared_in_a_module())
    assert register.named("telling") is again


def test_another_function_of_the_same_name_is_refused() -> None:
    register = Register[Hook]()
    one = register.declare(declared_in_a_module())

    def telling(event: object) -> None: ...

    with pytest.raises(InvalidValue, match="'telling' already"):
        register.declare(made(telling))
    assert register.named("telling") is one


def test_functions_that_tell_nothing_of_where_they_were_written_are_the_same_only_if_they_are_one() -> None:
    register = Register[Hook]()

    def silent(event: object) -> None: ...

    unnamed: Callable[[Any], Any] = lambda event: None  # noqa: E731
    for function in (unnamed, print):
        register.declare(made(function, "mine"))
        register.declare(made(function, "mine"))
        for other in (silent, lambda event: 1, len):  # pyright: ignore[reportUnknownLambdaType, reportUnknownVariableType]
            with pytest.raises(InvalidValue):
                register.declare(made(other, "mine"))  # pyright: ignore[reportUnknownArgumentType]
        register.clear()
