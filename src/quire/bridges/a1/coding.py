"""A1's strategies as the engine's: how a runtime has programs written, looked through, priced and run."""

from collections.abc import Callable, Sequence
from inspect import Parameter, isawaitable, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from quire.bridges.a1.agents import Agent
from quire.bridges.a1.context import Context
from quire.bridges.a1.strategies import Cost, Generate, Verify, is_strategy
from quire.items import Item, Message
from quire.models import AnyModel
from quire.programs.check import Program, check as check_program
from quire.programs.coder import Checks, Coder, Prices, Writes
from quire.programs.faults import ProgramFault
from quire.programs.price import Price, estimate
from quire.programs.prompts import RUN
from quire.programs.sandbox import Sandbox
from quire.programs.task import Task
from quire.session import Session

if TYPE_CHECKING:
    from quire.bridges.a1.runtime import Runtime


def coder_of(runtime: "Runtime", agent: Agent, kept: Path | None = None) -> Coder:
    """The coder of a runtime for an agent; it records in the transcript that `main` shows."""
    writer, strategy = runtime.generate, runtime.strategy
    session, sandbox = runtime.session, runtime.sandbox
    return Coder(
        None if is_strategy(writer) else cast("AnyModel | str", writer),
        session=session,
        main=main_of(runtime),
        candidates=getattr(strategy, "num_candidates", 3),
        rounds=getattr(strategy, "max_iterations", 3),
        sandbox=sandbox,
        kept=kept,
        write=_writing(writer, agent, session) if is_strategy(writer) else None,
        check=_checking(runtime.verify, agent, sandbox) if runtime.verify else None,
        price=estimate if runtime.cost is None else _pricing(runtime.cost, agent),
    )


def main_of(runtime: "Runtime") -> Callable[[], str]:
    """The name of the transcript that `main` shows, when it is asked for."""
    main = runtime.get_context()
    return lambda: main.transcript


def _writing(strategy: Generate, agent: Agent, session: Session) -> Writes:
    async def write(transcript: str, task: Task, items: Sequence[Item]) -> str:
        told = [item for item in items if isinstance(item, Message) and item.role != "system"]
        everything: dict[str, Any] = {
            "agent": agent,
            "task": told[0].text,
            "definitions": task.stubs,
            "return_function": False,
            "past_attempts": _past(told[1:]),
            "context": Context.over(session, transcript),
        }
        coming = strategy.generate(**_wanted(strategy.generate, everything))
        return _text(await coming if isawaitable(coming) else coming)

    # Programs are kept for who wrote them, and that is the strategy.
    kind = type(strategy)
    write.__module__, write.__qualname__ = kind.__module__, kind.__qualname__
    return write


def _past(told: Sequence[Message]) -> list[tuple[str, str]]:
    """Programs that were tried, each with all that was said of it."""
    past: list[tuple[str, str]] = []
    for one in told:
        if one.role == "assistant":
            past.append((one.text, ""))
        elif past and one.text != RUN:
            program, said = past[-1]
            past[-1] = program, f"{said}\n\n{one.text}".strip()
    return past


def _wanted(function: Any, everything: dict[str, Any]) -> dict[str, Any]:
    """Those arguments that a function names; all of them where it takes any."""
    parameters = signature(function).parameters
    if any(one.kind is Parameter.VAR_KEYWORD for one in parameters.values()):
        return everything
    return {name: value for name, value in everything.items() if name in parameters}


def _text(given: Any) -> str:
    if isinstance(given, tuple | list) and given:
        return _text(given[-1])  # pyright: ignore[reportUnknownArgumentType]
    if not isinstance(given, str) or not given.strip():
        raise ProgramFault("answer", "the strategy gave no program")
    return given


def _checking(verifiers: Sequence[Verify], agent: Agent, sandbox: Sandbox) -> Checks:
    async def check(code: str, task: Task) -> Program:
        program = await check_program(code, task, sandbox)
        for verifier in verifiers:
            coming = verifier.verify(code, agent)
            is_fine, fault = await coming if isawaitable(coming) else coming
            if not is_fine:
                raise ProgramFault("answer", str(fault or "it was not accepted"))
        return program

    return check


def _pricing(cost: Cost, agent: Agent) -> Prices:
    def price(program: Program, _task: Task) -> Price:
        # A1's costs are sums of how long calls take, and no money.
        return Price(0.0, float(cost.compute_cost(program.code, agent)), 0.0)

    return price
