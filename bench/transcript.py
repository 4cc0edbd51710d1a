"""The transcript that all libraries are given: made up, always the same, with tool calls."""

import json
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Entry = tuple[str, str, Sequence[tuple[str, str, Any]], str, str]
"""A message taken apart: role, text, calls (id, tool, arguments), the call it answers, the answering tool."""

ONE_MORE: Entry = ("user", "And which of them are still open, apart from the one you named?", (), "", "")
"""What is said after any history to make it one longer."""

SUBJECTS = "the invoice,the booking,our warehouse,the second shipment,this account,a customer"
VERBS = "was moved to,depends on,was checked against,still waits for,does not match,replaces"
OBJECTS = "the order of last week,a refund,the new schedule,two tickets,the price list,its note"
TOOLS = "find_orders,read_file,search_tickets,check_stock,route_parcel,list_invoices"


def messages(count: int, seed: int = 7) -> list[dict[str, Any]]:
    """The first `count` messages of the transcript, in the shape of OpenAI's chat API.

    Every second turn has tools, and no call is without a result. Texts are cut from one long text.
    """
    dice, calls = random.Random(seed), 0
    parts = [part.split(",") for part in (SUBJECTS, VERBS, OBJECTS)]
    sentences = (" ".join(map(dice.choice, parts)) + f" ({dice.randint(2, 990)})." for _ in range(1_500))
    prose = " ".join(sentences)

    def words(least: int, most: int) -> str:
        start = dice.randrange(len(prose) - most)
        return prose[start : start + dice.randint(least, most)]

    def user() -> dict[str, Any]:
        return {"role": "user", "content": words(40, 360)}

    def assistant() -> dict[str, Any]:
        return {"role": "assistant", "content": words(150, 750)}

    def call() -> dict[str, Any]:
        nonlocal calls
        calls += 1
        arguments = json.dumps({"query": words(20, 40), "limit": dice.randint(5, 50)})
        function = {"name": dice.choice(TOOLS.split(",")), "arguments": arguments}
        return {"id": f"call_{calls:08x}", "type": "function", "function": function}

    def turn_with_tools() -> Iterator[dict[str, Any]]:
        made = [call() for _ in range(dice.randint(1, 3))]
        yield user()
        yield {"role": "assistant", "content": dice.choice((None, words(40, 160))), "tool_calls": made}
        for one in made:
            output = words(2_000, 8_000) if dice.random() < 0.35 else words(80, 700)
            yield {
                "role": "tool",
                "tool_call_id": one["id"],
                "name": one["function"]["name"],
                "content": output,
            }
        yield assistant()

    said = [{"role": "system", "content": "You look after orders and stock. " + words(500, 600)}]
    while len(said) < count:
        said += [user(), assistant()]
        turn = list(turn_with_tools())
        said += turn if len(said) + len(turn) <= count else [user(), assistant()]
    return said[:count]


def entries(chat: Sequence[dict[str, Any]], parsed: bool = False) -> list[Entry]:
    """The messages taken apart; `parsed` gives a call's arguments as a dictionary, not as JSON text."""
    return [_entry(message, json.loads if parsed else str) for message in chat]


def _entry(message: dict[str, Any], read: Callable[[str], Any]) -> Entry:
    calls = tuple(
        (call["id"], call["function"]["name"], read(call["function"]["arguments"]))
        for call in message.get("tool_calls", ())
    )
    role, content = sys.intern(message["role"]), message["content"] or ""
    return role, content, calls, message.get("tool_call_id", ""), message.get("name", "")


def add_all(append: Callable[[Any], Any], chat: Sequence[Entry], kinds: tuple[Any, Any, Any]) -> None:
    """Make a message, calls or a result of each entry and append them one by one."""
    message, call, result = kinds
    for role, text, calls, answers, name in chat:
        if role == "tool":
            append(result(call_id=answers, name=name, content=text))
            continue
        if text:
            append(message(role=role, content=text))
        for call_id, tool, arguments in calls:
            append(call(call_id=call_id, name=tool, arguments=arguments))


def items(chat: Sequence[dict[str, Any]]) -> list[Any]:
    """The messages as Quire's items."""
    from quire.items import Message, ToolCall, ToolResult

    made: list[Any] = []
    add_all(made.append, entries(chat), (Message, ToolCall, ToolResult))
    return made


def texts(chat: Sequence[Entry]) -> Iterator[str]:
    """All the text that a library is given, role names left out."""
    for _role, text, calls, answers, name in chat:
        yield from filter(None, (text, answers, name))
        for call_id, tool, arguments in calls:
            yield from (call_id, tool, arguments)
