"""Programs of the model that wait for what their calls give: in a container, and for nothing but results."""

from typing import Any

from quire.providers.checking.anthropic.history import Block, Turn
from quire.providers.checking.faults import Findings
from quire.providers.checking.reading import as_object, short

_PROGRAM = "code_execution"


def names_container(value: Any) -> bool:
    """Whether a container is one that is there already: by its id, alone or among what else is said of it."""
    named = value if isinstance(value, str) else (as_object(value) or {}).get("id")
    return isinstance(named, str) and bool(named)


class Programs:
    """The programs of a conversation that wait, by the ids of the server tool uses that run them."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._waiting: dict[str, str] = {}  # where each was first said to have called something

    def check(self, turns: list[Turn], *, contained: bool) -> None:
        """Note what is said beside results while a program waits, and one that waits in no container."""
        for turn in turns:
            if turn.role == "assistant":
                self._follow(turn)
            elif turn.role == "user" and self._waiting:
                self._check_results(turn)
        if self._waiting and not contained:
            program, place = next(iter(self._waiting.items()))
            text = f"{short(program)} waits for what it called at {place}, and no container is named"
            self._findings.add("container", "container", text)

    def _follow(self, turn: Turn) -> None:
        for block in turn.blocks():
            program, answered = caller_of(block), block.fields.get("tool_use_id")
            if program is not None:
                self._waiting.setdefault(program, block.place)
            if isinstance(answered, str):
                self._waiting.pop(answered, None)

    def _check_results(self, turn: Turn) -> None:
        other = next((block for block in turn.blocks() if block.kind != "tool_result"), None)
        if other is not None:
            text = f"{short(other.kind)} stands beside the results that a program waits for"
            self._findings.add(other.place, "program_results", text)


def caller_of(block: Block) -> str | None:
    """The program that called what a block is; none where the model itself did."""
    caller = as_object(block.fields.get("caller")) or {}
    kind, program = caller.get("type"), caller.get("tool_id")
    called = isinstance(kind, str) and kind.startswith(_PROGRAM) and isinstance(program, str)
    return program if called else None
