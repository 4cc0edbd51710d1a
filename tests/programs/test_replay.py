"""Within one answer a call has its effect once: later programs receive the result of the earlier call."""

import asyncio
from collections import Counter
from decimal import Decimal
from functools import partial
from itertools import count
from typing import Any

import pytest
from pydantic import BaseModel, Field, SecretStr

from quire import Agent, ToolCall, ToolResult
from quire.agent import Tool, tool
from quire.errors import ModelFailed
from quire.models import Scripted
from quire.programs import Task
from tests.programs.coding import assert_whole, coder_of, said

REPLAYED = "quire.replayed"
BROKEN = "r = await pay(invoice='17')\noutput = {'id': r['receipt_id']}"
WORKS = "r = await pay('17', currency='EUR')\noutput = {'id': r['receipt']}"


class Till:
    def __init__(self, **options: Any) -> None:
        self.paid: list[str] = []
        self.tool: Tool = tool(name="pay", **options)(self.pay)
        self.task = Task("settle", "Pay 17.", input={"x": int}, output=dict[str, str], tools=[self.tool])

    async def pay(self, invoice: str, currency: str = "EUR") -> dict[str, str]:
        self.paid.append(invoice)
        if invoice == "none":
            raise ValueError("there is no such invoice")
        if invoice == "slow":
            await asyncio.sleep(60)
        return {"receipt": f"r-{len(self.paid)}"}


async def test_the_next_candidate_receives_the_result_of_the_same_call() -> None:
    till = Till()
    last = WORKS.replace("r = ", "for _ in range(1):\n    r = ")  # dear: else candidates come in any order
    coder = coder_of(BROKEN, BROKEN, last, candidates=3, rounds=1)
    answer = await coder.answer(till.task, {"x": 1})
    assert till.paid == ["17"] and answer.value == {"id": "r-1"}
    call, result = coder.session.view()[1:3]
    assert isinstance(call, ToolCall) and isinstance(result, ToolResult)
    attempts = [item for name in "abc" for item in coder.session.view(f"attempt_{name}")]
    results = [item for item in attempts if isinstance(item, ToolResult)]
    (paid,) = [one for one in results if REPLAYED not in one.extras]
    assert len(results) == 3 and call.call_id != paid.call_id
    assert {str(one.extras[REPLAYED]) for one in [*results, result] if one is not paid} == {paid.call_id}
    assert sorted(len(tried.calls) for tried in answer.attempts) == [0, 0, 1]
    for name in ("main", "attempt_a", "attempt_b", "attempt_c"):
        assert_whole(coder.session, name)


async def test_a_round_reads_the_calls_of_all_attempts_since_the_last_one() -> None:
    till, programs = Till(), [BROKEN.replace("17", number) for number in ("17", "18", "19", "19")]
    coder = coder_of(*programs, WORKS, WORKS, candidates=2, rounds=3)
    assert (await coder.answer(till.task, {"x": 1})).value == {"id": "r-1"}
    assert till.paid == ["17", "18", "19"]
    for name in ("attempt_a", "attempt_b"):
        shown = "\n".join(text for kind, text in said(coder.session, name) if kind == "user")
        assert shown.count('"receipt": "r-1"') == shown.count('"receipt": "r-2"') == 1, shown


async def test_the_report_of_calls_is_bounded() -> None:
    many = "for n in range(200):\n    await pay('x' * 5000 + str(n))\noutput = {}['no']"
    coder = coder_of(many, WORKS, rounds=2)
    await coder.answer(Till().task, {"x": 1})
    (text,) = [text for kind, text in said(coder.session, "attempt_a") if kind == "user" and "xxx" in text]
    assert len(text) < 6_000 and "200" in text


NONE, SLOW = "await pay('none')\noutput = {}", "await pay('slow')\noutput = {}"
TWICE = "a = await pay('17')\nb = await pay('17')\noutput = {'id': a['receipt'] + b['receipt']}"
LATE = "try:\n    await pay('slow')\nexcept TimeoutError:\n    output = {'id': 'late'}"
BOTH = "import asyncio\nawait asyncio.gather(pay('slow'), pay('none'))\noutput = {}"
CAUGHT = "try:\n    await pay('slow')\nexcept RuntimeError as fault:\n    output = {'id': str(fault)[:15]}"
ONCE: dict[str, tuple[list[str], str, list[str], dict[str, Any]]] = {
    "replayed": ([BROKEN, WORKS], "r-1", ["17"], {}),
    "more often than before": ([BROKEN, TWICE], "r-1r-2", ["17", "17"], {}),
    "idempotent": ([BROKEN, WORKS], "r-2", ["17", "17"], {"idempotent": True}),
    "failed without acting": ([NONE, NONE, WORKS], "r-3", ["none", "none", "17"], {}),
    "timed out": ([SLOW, LATE], "late", ["slow"], {"timeout": 0.05}),
    "stopped with its program": ([BOTH, CAUGHT], "It is uncertain", ["slow", "none"], {}),
}


@pytest.mark.parametrize(("programs", "value", "paid", "options"), ONCE.values(), ids=ONCE)
async def test_effects_happen_at_most_once(
    programs: list[str], value: str, paid: list[str], options: dict[str, Any]
) -> None:
    till = Till(**options)
    answer = await coder_of(*programs).answer(till.task, {"x": 1})
    assert (answer.value, till.paid) == ({"id": value}, paid)
    assert sum(tried.calls.get("pay", 0) for tried in answer.attempts) == len(paid)


NUMBERS = count()


class Order(BaseModel):
    """A record that draws an id."""

    amount: int
    pin: SecretStr = SecretStr("0")
    id: int = Field(default_factory=partial(next, NUMBERS))


class Item(BaseModel):
    sku: str
    price: Decimal = Decimal("1.00")
    pin: SecretStr = SecretStr("0")
    card: str = Field("", exclude=True)
    tags: list[str] = Field(default_factory=list)


SAME: list[tuple[Any, Any, Any]] = [
    (Any, {"a": 1, "b": [2.0]}, {"b": [2], "a": 1.0}),
    (Item, {"sku": "a"}, {"sku": "a", "tags": [], "price": 1}),
    (Item, {"sku": "a", "price": "2.50"}, {"price": 2.5, "sku": "a"}),
    (Order, {"amount": 5, "pin": "1"}, {"pin": "1", "amount": 5}),
]
OTHER: list[tuple[Any, Any, Any]] = [
    (Any, 1, "1"),
    (int, 2**53, 2**53 + 1),
    (list[str], ["a", "b"], ["b", "a"]),
    (Item, {"sku": "a", "pin": "1"}, {"sku": "a", "pin": "2"}),
    (Item, {"sku": "a", "card": "1"}, {"sku": "a", "card": "2"}),
    (Order, {"amount": 5, "pin": "1"}, {"amount": 5, "pin": "2"}),
]


async def test_equal_arguments_are_one_call() -> None:
    """Two programs of one answer call a tool of each case."""
    cases, calls = [*SAME, *OTHER], Counter[int]()

    def taking(number: int, kind: Any) -> Tool:
        async def take(x: Any) -> str:
            calls[number] += 1
            return "taken"

        take.__annotations__["x"] = kind
        return tool(name=f"take_{number}")(take)

    tools = [taking(number, kind) for number, (kind, _, _) in enumerate(cases)]
    task = Task("take", input={"one": list[Any], "other": list[Any]}, tools=tools)
    first, second = (
        "\n".join(f"await take_{number}({name}[{number}])" for number in range(len(cases)))
        for name in ("one", "other")
    )
    check = "import json\nassert json.dumps(one) == 'again'\noutput = ''"
    coder = coder_of(f"{first}\n{check}", f"{second}\noutput = ''", rounds=2)
    await coder.answer(task, {"one": [one for _, one, _ in cases], "other": [other for _, _, other in cases]})
    assert [calls[number] for number in range(len(cases))] == [1] * len(SAME) + [2] * len(OTHER)


did: list[Any] = []


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    did.clear()


class Broken:
    def __repr__(self) -> str:
        raise ZeroDivisionError("no words")


class HalfDone(Exception):
    has_acted = True


@tool
async def pay(amount: int) -> str:
    did.append(amount)
    return "paid"


@tool
async def awaited() -> object:
    did.append(1)
    return Broken()


@tool
async def half() -> None:
    did.append(1)
    raise HalfDone("the first half is done")


@tool
async def asks_agent() -> str:
    """Have it paid by an agent whose model fails then."""

    def failing(sent: Any) -> Any:
        if sent.payload["messages"][-1]["role"] == "tool":
            raise ModelFailed("too much to do")
        return ToolCall("c1", "pay", '{"amount": 5}')

    return str(await Agent(instructions="Pay.", model=Scripted(failing), tools=[pay]).ask("Pay 5."))


@pytest.mark.parametrize("called", [awaited, half, asks_agent], ids=lambda one: one.name)
async def test_a_tool_that_acted_and_failed_is_not_called_again(called: Tool) -> None:
    caught = f"try:\n    output = str(await {called.name}())\nexcept Exception:\n    output = 'failed'"
    coder = coder_of(f"{caught}\nassert output == ''", caught, rounds=2)
    answer = await coder.answer(Task("act", input={"q": str}, output=str, tools=[called]), {"q": "x"})
    assert answer.value == "failed" and len(did) == 1
    (report,) = [text for _, text in said(coder.session, "attempt_a") if text.startswith("Programs that")]
    assert f"- {called.name} {{}} failed after it had acted" in report
