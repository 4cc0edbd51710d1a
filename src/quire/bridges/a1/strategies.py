"""A1's strategies: who writes programs, who looks them through, what they cost and who runs them."""

from typing import Any, Protocol, TypeGuard, cast, runtime_checkable

import msgspec

from quire.bridges.a1.context import Compact
from quire.bridges.a1.tools import model_of
from quire.errors import WrongType
from quire.models import AnyModel


@runtime_checkable
class Generate(Protocol):
    """Writes programs."""

    def generate(self, *args: Any, **told: Any) -> Any:
        """A program, or definitions and a program, or none; it may be awaited.

        It is given, by name, those that it names of `agent`, `task` in words, `definitions` of what there is,
        `return_function`, `past_attempts` with what was wrong with each, and the `context` of the attempt.
        """
        ...


@runtime_checkable
class Verify(Protocol):
    """Looks a program through, after all of the engine's own checks."""

    def verify(self, code: str, agent: Any) -> Any:
        """Whether it may be run, and what is wrong with it; it may be awaited."""
        ...


@runtime_checkable
class Cost(Protocol):
    """Says what a program is taken to cost."""

    def compute_cost(self, code: str, agent: Any) -> float:
        """A number; the program with the least is run first."""
        ...


@runtime_checkable
class Executor(Protocol):
    """Runs programs in the place of the sandbox."""

    def execute(self, code: str, tools: Any = None) -> Any:
        """What a program comes to, or what has it as `output`, with `logs` and `error`; it may be awaited."""
        ...


class Strategy(msgspec.Struct, frozen=True, kw_only=True):
    """How programs come about; what is none here is the runtime's own."""

    num_candidates: int = 3
    max_iterations: int = 3
    generate: Any = None
    verify: Any = None
    cost: Any = None
    compact: Compact | None = None


def is_model(writer: object) -> TypeGuard[AnyModel]:
    """Whether it answers by itself."""
    return callable(getattr(writer, "send", None))


def is_strategy(writer: object) -> TypeGuard[Generate]:
    """Whether it writes programs in a way of its own."""
    return isinstance(writer, Generate) and not is_model(writer)


def checked_writer(generate: Any) -> AnyModel | str | Generate | None:
    """Who writes programs: a model, its name, or a strategy; a model's tool is its model."""
    model = model_of(generate)
    if model is not None:
        return model
    if generate is None or isinstance(generate, str) or is_model(generate) or is_strategy(generate):
        return generate
    raise WrongType(f"generate is a model, its name or a strategy, not {type(generate).__name__}")


def checked_verifiers(verify: Any) -> tuple[Verify, ...]:
    """Those who look programs through: none, one or several."""
    row = cast("list[Any]", verify) if isinstance(verify, list | tuple) else [verify]
    found = tuple(one for one in row if one is not None)
    for one in found:
        if not isinstance(one, Verify):
            raise WrongType(f"verify is a strategy or several, not {type(one).__name__}")
    return found


def checked_cost(cost: Any) -> Cost | None:
    """Who says what programs cost, if anybody does."""
    if cost is not None and not isinstance(cost, Cost):
        raise WrongType(f"cost has a compute_cost, and {type(cost).__name__} has none")
    return cost


def checked_executor(executor: Any) -> Executor | None:
    """Who runs programs, if not the sandbox."""
    if executor is not None and not isinstance(executor, Executor):
        raise WrongType(f"an executor has an execute, and {type(executor).__name__} has none")
    return executor
