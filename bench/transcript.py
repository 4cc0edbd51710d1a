"""One deterministic agent transcript, as chat messages, for every library that is measured."""

import json
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Entry = tuple[str, str, Sequence[tuple[str, str, Any]], str, str]
"""A message taken apart: role, text, calls (id, tool, arguments), the call it answers, the answering tool."""

ONE_MORE: Entry = (
    "user",
    "And which of them are still open, apart from the one that we spoke about?",
    (),
    "",
    "",
)
"""What is said after any history to make it one longer."""

SUBJECTS = (
    "the invoice,the booking,our warehouse,the second shipment,this account,the northern depot,a customer"
)
VERBS = (
    "was moved to,depends on,has been checked against,still waits for,does not match,replaces,arrived before"
)
OBJECTS = "the order of last week,a refund,the new schedule,two open tickets,the price list,its delivery note"
ENDS = (
    "so I would look there first,which explains the delay,as the log shows,and nobody has signed it,for now"
)
TOOLS = "find_orders,read_file,search_tickets,check_stock,route_parcel,list_invoices"
STATES = "open,paid,late,packed,returned"


def messages(count: int, seed: int = 7) -> list[dict[str, Any]]:
    """The first `count` messages of the transcript, in the shape of OpenAI's chat API."""
    return _Talk(seed).messages(count)


def entries(chat: Sequence[dict[str, Any]], parsed: bool = False) -> list[Entry]:
    """The messages taken apart; `parsed` gives a call's arguments as a dictionary, not as JSON text."""
    return [_entry(message, json.loads if parsed else str) for message in chat]


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


def _entry(message: dict[str, Any], read: Callable[[str], Any]) -> Entry:
    calls = tuple(
        (call["id"], call["function"]["name"], read(call["function"]["arguments"]))
        for call in message.get("tool_calls", ())
    )
    role, content = sys.intern(message["role"]), message["content"] or ""
    return role, content, calls, message.get("tool_call_id", ""), message.get("name", "")


class _Talk:
    """A talk. Texts are cut from stock made once: a hundred thousand messages must be quick."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.calls = 0
        self.prose = " ".join(self._sentence() for _ in range(1500))
        self.code = [self._line(number) for number in range(800)]
        self.rows = [self._row(number) for number in range(800)]

    def messages(self, count: int) -> list[dict[str, Any]]:
        """So many, and no call without a result: what a call that waits costs is another question."""
        said = [{"role": "system", "content": "You look after orders and stock. " + self._words(600)}]
        while len(said) < count:
            said += self._plain_turn()
            turn = list(self._turn_with_tools())
            said += turn if len(said) + len(turn) <= count else self._plain_turn()
        return said[:count]

    def _plain_turn(self) -> Iterator[dict[str, Any]]:
        yield {"role": "user", "content": self._words(self.dice.randint(40, 360))}
        yield {"role": "assistant", "content": self._words(self.dice.randint(150, 750))}

    def _turn_with_tools(self) -> Iterator[dict[str, Any]]:
        yield {"role": "user", "content": self._words(self.dice.randint(40, 360))}
        calls = [self._call() for _ in range(self.dice.randint(1, 3))]
        text = self._words(self.dice.randint(40, 160)) if self.dice.random() < 0.5 else None
        yield {"role": "assistant", "content": text, "tool_calls": calls}
        for call in calls:
            name = call["function"]["name"]
            yield {"role": "tool", "tool_call_id": call["id"], "name": name, "content": self._output()}
        yield {"role": "assistant", "content": self._words(self.dice.randint(150, 750))}

    def _call(self) -> dict[str, Any]:
        self.calls += 1
        arguments = {"query": self._words(30), "limit": self.dice.randint(5, 50), "state": self._pick(STATES)}
        function = {"name": self._pick(TOOLS), "arguments": json.dumps(arguments)}
        return {"id": f"call_{self.calls:08x}", "type": "function", "function": function}

    def _output(self) -> str:
        long = self.dice.random() < 0.35
        size = self.dice.randint(2000, 8000) if long else self.dice.randint(80, 700)
        kind = self.dice.random()
        if kind < 0.5:
            return '{"rows": [' + ", ".join(self._stock(self.rows, size)) + "]}"
        if kind < 0.8:
            return "\n".join(self._stock(self.code, size))
        return self._words(size)

    def _words(self, size: int) -> str:
        start = self.prose.index(" ", self.dice.randrange(len(self.prose) - 9000)) + 1
        return self.prose[start : start + size].rpartition(" ")[0] + "."

    def _stock(self, lines: list[str], size: int) -> list[str]:
        start = self.dice.randrange(len(lines) - 200)
        return lines[start : start + max(1, size // (len(lines[start]) + 2))]

    def _pick(self, words: str) -> str:
        return self.dice.choice(words.split(","))

    def _sentence(self) -> str:
        said = " ".join(map(self._pick, (SUBJECTS, VERBS, OBJECTS)))
        end = f", {self._pick(ENDS)}" if self.dice.random() < 0.4 else f" ({self.dice.randint(2, 990)})"
        return f"{said[0].upper()}{said[1:]}{end}."

    def _row(self, number: int) -> str:
        row = {"id": number, "state": self._pick(STATES), "total": self.dice.randint(100, 99999) / 100}
        return json.dumps(
            row | {"about": f"{self._pick(SUBJECTS)} {self._pick(VERBS)} {self._pick(OBJECTS)}"}
        )

    def _line(self, number: int) -> str:
        tool, state = self._pick(TOOLS), self._pick(STATES)
        indent = "    " * self.dice.randint(0, 3)
        return f"{indent}if order.{state} > {number}: {tool}(order, limit={number % 37})"
