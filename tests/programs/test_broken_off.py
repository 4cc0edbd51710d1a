"""After what no program may go on after it calls nothing more, and it is told what it had called."""

import asyncio
from typing import Any, cast

import pytest

from quire import Session, ToolCall, tool
from quire.errors import CapReached
from quire.models import Scripted
from quire.programs import Coder, Task
from quire.programs.calling import Calls
from quire.session import Caps
from tests.programs.coding import fenced

CATCHING = """
await pay(n=7)
try:
    for _ in range(40):
        await llm('x' * 300)
except Exception:
    pass
for n in range(3):
    try:
        await pay(n=n)
    except Exception:
        pass
output = 'on'
"""
TOGETHER = """
import asyncio
await pay(n=7)
async def safe(call):
    try:
        return await call
    except Exception:
        return None
for _ in range(40):
    await safe(llm('x' * 300))
await asyncio.gather(*[safe(pay(n=n)) for n in range(3)])
output = 'on'
"""
DYING = CATCHING.replace("output = 'on'", "output = 1 // 0")


class Paid:
    """A tool that pays, a model that costs, and a conversation that may spend little."""

    def __init__(self) -> None:
        self.paid: list[int] = []
        self.session = Session.open("ana/one", store="memory:", caps=Caps(tokens=500))
        model = Scripted(lambda _: "said", repeat=True)
        self.task = Task("pay", input={"x": int}, output=Any, tools=[tool(self.pay)], models=[model])

    async def pay(self, n: int) -> str:
        """Pay."""
        self.paid.append(n)
        return "paid"


@pytest.mark.parametrize("code", [CATCHING, TOGETHER, DYING])
@pytest.mark.parametrize("way", ["answer", "run"])
def test_a_program_that_catches_a_cap_calls_nothing_more(code: str, way: str) -> None:
    paid = Paid()

    async def work() -> None:
        coder = Coder(Scripted([fenced(code)]), session=paid.session, candidates=1)
        await (coder.answer(paid.task, x=1) if way == "answer" else coder.run(paid.task, code, x=1))

    with pytest.raises(CapReached, match="tokens are spent") as raised:
        asyncio.run(work())
    assert paid.paid == [7]
    assert str(raised.value).endswith("It had called pay (1 done): look before you do it again.")


def test_a_call_that_waited_for_approval_meanwhile_is_refused() -> None:
    paid = Paid()
    task = Task("pay", output=Any, tools=[tool(approve=True)(paid.pay)])

    def agree(_: ToolCall) -> bool:
        calls.broken = CapReached("all is spent")
        return True

    calls = Calls(task, paid.session, None, agree, lambda _: None)
    with pytest.raises(RuntimeError, match="cannot go on"):
        asyncio.run(cast("Any", calls.functions["pay"](n=1)))
    assert paid.paid == []
