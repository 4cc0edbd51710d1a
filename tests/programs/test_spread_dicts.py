"""A dict of a program's own, spread into a call: each key is for the parameter of its name."""

import asyncio
from typing import Any

import pytest

from quire.programs.faults import ProgramFault
from quire.programs.sandbox import Sandbox

STUBS = """from typing import Any, Literal, TypedDict
class Row(TypedDict):
    to: int
    subject: str
Output = Any
n: int
row: Row
async def send(to: str, subject: str, body: str = "", cc: list[str] | None = None) -> bool: ...
async def find(status: Literal["open", "shut"] | None = None, at: int | None = None) -> list[str]: ...
async def put(key: str, size: int = 1, **others: Any) -> bool: ...
"""
RIGHT = {
    "bound once": "mail = {'to': 'a', 'subject': 'b'}\noutput = await send(**mail)",
    "written there": "output = await send(**{'to': 'a', 'subject': 'b'})",
    "called": "output = await send(**dict(to='a', subject='b'))",
    "in parentheses, on lines of its own": "output = await send(\n  ** ({'to': 'a',\n 'subject': 'b'}))",
    "a text of several lines": "output = await send(**{'to': '''a\nb''', 'subject': 'é'})",
    "beside others": "output = await send('a', **{'subject': 'b'}, body='c')",
    "of a type that it says": "by: dict[str, str] = {'to': 'a', 'subject': 'b'}\noutput = await send(**by)",
    "read before": "mail = {'to': 'a', 'subject': 'b'}\nprint(mail['to'])\noutput = await send(**mail)",
    "filled later": "by = {}\nif n > 1:\n    by['status'] = 'open'\noutput = await find(**by)",
    "filled elsewhere": "def fill(d):\n    d['subject'] = 'b'\nmail = {'to': 'a'}\nfill(mail)\n"
    "output = await send(**mail)",
    "given a list": "mail = {'to': 'a', 'subject': 'b'}\nif n:\n    mail['cc'] = ['c']\n"
    "output = await send(**mail)",
    "one of several": "output = await find(**{'status': 'open'})",
    "a list of them": "import asyncio\nmails = [{'to': 'a', 'subject': 'b'}, {'to': 'c', 'subject': 'd'}]\n"
    "output = await asyncio.gather(*[send(**one) for one in mails])",
    "two": "one, two = {'to': 'a'}, {'subject': 'b'}\noutput = await send(**one, **two)",
    "made of another": "mail = {'to': 'a'}\noutput = await send(**{**mail, 'subject': 'b'})",
    "of an other's keys": "output = await put(**{'key': 'a', 'its own': 'b'})",
    "into a function of its own": "def told(to: str, cc: list[str] | None = None) -> str:\n    return to\n"
    "output = told(**{'to': 'a'})",
    "into a method": "class Mail:\n    def told(self, to: str, cc: list[str] | None = None) -> str:\n"
    "        return to\noutput = Mail().told(**{'to': 'a'})",
}


@pytest.mark.parametrize("code", RIGHT.values(), ids=RIGHT)
def test_it_is_taken(code: str) -> None:
    async def function(*_: Any, **__: Any) -> bool:
        return True

    async def work() -> None:
        sandbox = Sandbox(workers=1)
        await sandbox.check(code, STUBS)
        await sandbox.run(
            code, inputs={"n": 2, "row": {}}, functions=dict.fromkeys(("send", "find", "put"), function)
        )

    asyncio.run(work())


WRONG = {
    "a key that there is not": (
        "output = await send(**{'to': 'a', 'subject': 'b', 'title': 'c'})",
        "`title` does not match any known parameter",
    ),
    "one that is needed": ("output = await send(**{'to': 'a'})", "required parameter `subject`"),
    "under a name": ("mail = {'to': 'a'}\noutput = await send(**mail)", "required parameter `subject`"),
    "a value": ("output = await send(**{'to': 1, 'subject': 'b'})", "Expected `str`, found `Literal[1]`"),
    "one of others": ("output = await find(**{'status': 'opn'})", 'found `Literal["opn"]`'),
    "a record": ("output = await send(**row)", "Expected `str`, found `int`"),
    "keys that are no texts": ("output = await send(**{1: 'a'})", "`str` key type"),
    "no dict": ("output = await send(**['to'])", "must be a mapping"),
    "beside it": (
        "output = await send(cc='a', **{'to': 'a', 'subject': 'b'})",
        "Expected `list[str] | None`",
    ),
    "a dict as it is": ("mail = {'to': 'a'}\noutput = await send(mail, 'b')", "Expected `str`"),
    "a part of the same line": (
        "mail = {'to': 'a'}\nmail['subject'] = 'b'\noutput = [await send(**mail), await find(at='x')]",
        "Expected `int | None`",
    ),
}


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_what_its_text_shows_is_told(case: tuple[str, str]) -> None:
    code, words = case
    with pytest.raises(ProgramFault) as told:
        asyncio.run(Sandbox(workers=1).check(code, STUBS))
    assert told.value.kind == "types" and words in str(told.value)
    assert told.value.line == code.count("\n") + 1
