"""What is no data is given to no tool and is no answer: it is said what it is."""

import asyncio
from typing import Any

import pytest

from quire import tool
from quire.programs import Task
from quire.programs.faults import ProgramFault
from quire.programs.sandbox import Sandbox
from quire.programs.sandbox.shown import thing_shown
from tests.programs.coding import coder_of

AHEAD = """
import asyncio, itertools, math, random, re
from functools import partial
async def own(n): return n
def plain(n): return n
class Thing:
    def method(self): return 1
circle, ring = [], {}
circle.append(circle)
ring['a'] = ring
"""
THINGS = {
    "tool(1)": "a coroutine: was an `await` left out?",
    "own(1)": "a coroutine: was an `await` left out?",
    "asyncio.gather(own(1))": "a coroutine: was an `await` left out?",
    "tool": "a function",
    "own": "a function",
    "plain": "a function",
    "lambda: 1": "a function",
    "math.sqrt": "a function",
    "Thing().method": "a function",
    "partial(tool, 1)": "a function",
    "partial(plain, 1)": "a function",
    "len": "no value of JSON",
    "iter([1])": "an iterator",
    "iter({'a': 1})": "an iterator",
    "iter('ab')": "an iterator",
    "iter({'a': 1}.items())": "an iterator",
    "itertools.chain([1], [2])": "an iterator",
    "random.Random(1)": "an object",
    "{'a': 1}.keys()": "`list(...)`",
    "{'a': 1}.values()": "`list(...)`",
    "{'a': {'b': 1}.keys()}.items()": "`list(...)`",
    "{'a\\nb': 1}.keys()": "`list(...)`",
    "range(3)": "a range",
    "range(5, 0, -2)": "a range",
    "slice(1, None)": "a slice",
    "re.search('a', 'a')": "a match",
    "re.compile('a')": "a pattern",
    "Thing": "a class",
    "math": "a module",
    "circle": "itself",
    "ring": "itself",
}
HOLDERS = ("{}", "{{'in': {}}}", "[1, {}]", "({}, 'a')")


class Taking:
    """A function that notes what it is given."""

    def __init__(self) -> None:
        self.given: list[Any] = []

    async def __call__(self, value: Any) -> str:
        self.given.append(value)
        return "done"


async def found(code: str, taking: Taking) -> Any:
    functions = {"tool": Taking(), "take": taking}
    return (await Sandbox(workers=1).run(AHEAD + code, functions=functions)).value


@pytest.mark.parametrize("thing", [thing for thing in THINGS if "(1)" not in thing or "Random" in thing])
def test_it_is_a_type_error_to_give_it_to_a_tool(thing: str) -> None:
    caught = "try:\n    await take({})\nexcept TypeError as fault:\n    told.append(str(fault))\n"
    code = "told = []\n" + "".join(caught.format(holder.format(thing)) for holder in HOLDERS) + "told"
    taking = Taking()
    told = asyncio.run(found(code, taking))
    assert len(told) == len(HOLDERS) and taking.given == []
    for words in told:
        assert words.startswith("take() cannot be given this: it holds ") and THINGS[thing] in words


@pytest.mark.parametrize("thing", THINGS)
@pytest.mark.parametrize("beside", ["", "'set': {1}, "])
def test_it_is_no_answer(thing: str, beside: str) -> None:
    with pytest.raises(ProgramFault) as raised:
        asyncio.run(found(f"output = {{{beside}'in': {thing}}}", Taking()))
    assert raised.value.kind == "answer"
    if thing not in ("circle", "ring"):
        assert THINGS[thing] in str(raised.value)


TEXTS = {
    "'range'": "range",
    "'a range(0, 3)'": "a range(0, 3)",
    "'range(n)'": "range(n)",
    "'<b>'": "<b>",
    "'<coroutine>'": "<coroutine>",
    "'dict_keys'": "dict_keys",
    "'tool'": "tool",
    "str(type(1))": "<class 'int'>",
    "'<p>one object</p>'": "<p>one object</p>",
    "map(str, [1, 2])": ["1", "2"],
    "{'in': map(str, [1, 2])}": {"in": ["1", "2"]},
    "(n for n in [1])": [1],
    "zip([1], [2])": [[1, 2]],
    "{1}": [1],
}


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_data_is_given_as_it_is(text: str) -> None:
    taking = Taking()
    assert asyncio.run(found(f"await take({text})", taking)) == "done"
    (given,) = taking.given
    assert given == TEXTS[text]


@pytest.mark.parametrize("start", ["<", "range(", "dict_keys([", "functools.partial(<", "re.compile('"])
def test_a_long_text_is_looked_at_once(start: str) -> None:
    assert thing_shown(start + "('" * 200_000) is None  # gone through again and again, this would not end


def test_a_tool_as_a_value_is_called_by_its_name() -> None:
    taking = Taking()
    assert asyncio.run(found("every = {'it': take}\nawait every['it']([await take(1)])", taking)) == "done"
    assert taking.given == [1, ["done"]]


@tool
async def score(name: str) -> float:
    """The score of a customer."""
    return len(name) / 2


LATER = "s = score(name='ana')\nawait save(record={'score': s})\noutput = 1"


def test_a_program_that_forgot_to_await_has_saved_nothing() -> None:
    saved: list[dict[str, Any]] = []

    @tool
    async def save(record: dict[str, Any]) -> str:
        """Save a record."""
        saved.append(record)
        return "saved"

    task = Task("save", input={"n": int}, output=int, tools=[score, save])
    mended = LATER.replace("= score", "= await score")
    coder = coder_of(LATER, mended, rounds=2)
    assert asyncio.run(coder.answer(task, n=1)).value == 1
    assert saved == [{"score": 1.5}]
    assert any("was an `await` left out?" in str(one) for one in coder.session.view("attempt_a"))
