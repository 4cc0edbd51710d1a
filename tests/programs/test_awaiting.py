"""Calls that nobody awaits, found in the text of a program."""

import ast

import pytest

from quire.programs.awaiting import unawaited

OWN = "async def own(n): return n\n"
LEFT_OUT = {
    "a value of a dict": "await save({'a': look(1)})",
    "a keyword": "await save(record={'a': look(1)})",
    "all of an argument": "await save(look(1))",
    "a list": "await save([look(1)])",
    "rows": "await save(rows=[{'a': look(n)} for n in x])",
    "values by key": "await save({n: look(n) for n in x})",
    "what is generated": "await save(look(n) for n in x)",
    "a pair": "await save((1, look(1)))",
    "one of two": "await save(look(1) if x else 2)",
    "a list that is spread": "await save(*[look(1)])",
    "within what is not awaited itself": "calls = [save({'a': look(n)}) for n in x]",
    "the answer": "output = {'a': look(1)}",
    "an annotated answer": "output: dict = {'a': look(1)}",
    "rows of the answer": "output = [look(n) for n in x]",
    "a statement": "look(1)",
    "a sum": "output = 1 + look(1)",
    "in print": "print(look(1))",
    "rows that are counted": "output = len([look(n) for n in x])",
    "rows as a statement": "[look(n) for n in x]",
    "what is gone through": "for n in look(1): pass",
    "a condition": "if look(1): pass",
    "several names": "a, b = look(1)",
}
LEFT = {
    "a name": "call = look(1)",
    "a name that is read": "call = look(1)\nprint(call)\noutput = f'{call}'",
    "an annotated name": "call: object = look(1)",
    "another name": "call = look(1)\nother = call\noutput = 1 if other else 2",
    "rows": "calls = [look(n) for n in x]\noutput = len(calls)",
    "rows that are made": "calls = list(look(n) for n in x)\nif not calls: pass",
    "pairs": "calls = [(n, look(n)) for n in x]\nfor pair in calls: n += 1",
    "rows that grow": "calls.append(look(1))\noutput = len(calls)",
    "rows that are added": "calls += [look(1)]\nfor call in calls: print(call)",
    "values by key": "calls = {n: look(n) for n in x}\noutput = ', '.join(calls)",
    "one more by key": "calls[1] = look(1)\noutput = calls.keys()",
    "rows in others": "calls.append(look(1))\nrows.extend(calls)\noutput = len(rows)",
    "rows that are chosen from": "calls = [look(n) for n in x]\noutput = sum(1 for call in calls if call)",
    "the answer by another name": "calls = [look(n) for n in x]\noutput = calls",
}
GATHERED = {
    "a statement": "asyncio.gather(*[look(n) for n in x])",
    "a name": "rows = asyncio.gather(*[look(n) for n in x])\noutput = len(x)",
    "several names": "a, b = asyncio.gather(look(1), look(2))",
    "the answer": "output = asyncio.gather(look(1))",
    "what is gone through": "for row in asyncio.gather(look(1)): pass",
    "an argument": "await save(asyncio.gather(look(1)))",
}
AWAITED = {
    "at once": "await save({'a': await look(1)})",
    "together": "await save(await asyncio.gather(*[look(n) for n in x]))",
    "together, in a dict": "await save({'a': await asyncio.gather(look(1), look(2))})",
    "later": "call = look(1)\nawait save(await call)",
    "later, from a dict": "calls = {'a': look(1)}\nawait save(await calls['a'])",
    "later, from the answer": "output = [look(n) for n in x]\noutput = await asyncio.gather(*output)",
    "later, by another function": "await keep(look(1))",
    "named alone": "await save({'a': 1}, look)",
    "in pairs with others": "pairs = zip(x, [look(n) for n in x])\nfor n, call in pairs: await call",
    "one after the other": "calls = [look(n) for n in x]\nfor call in calls: await call",
    "one after the other, in a row": "calls = [look(n) for n in x]\nrows = [await call for call in calls]",
    "together, later": "rows = asyncio.gather(*[look(n) for n in x])\noutput = await rows",
    "together, once all are there": "for n in x:\n    calls.append(look(n))\nawait asyncio.gather(*calls)",
    "together, by other names": "for n in x:\n    call = look(n)\n    calls.append(call)\n"
    "rows = calls\nawait asyncio.gather(*(row for row in rows))",
    "by key": "calls[1] = look(1)\nfor key in calls: await calls[key]",
    "with its key": "calls = {n: look(n) for n in x}\nfor n, call in calls.items(): await call",
    "one at a time": "calls = [look(n) for n in x]\nwhile calls: await calls.pop()",
    "in groups": "calls.setdefault(1, []).append(look(1))\nfor group in calls.values():\n"
    "    await asyncio.gather(*group)",
    "by whom it is returned to": "def start():\n    call = look(1)\n    return call\nawait start()",
    "by whom it is given to": "call = look(1)\nawait keep(call=call)",
    "where it may be": "call = look(1)\noutput = await call if x else 0",
    "in another function": "calls = [look(1)]\nasync def wait():\n    return await calls[0]\nawait wait()",
    "of a class": "class Work:\n    call = look(1)\nawait Work.call",
    "of an own list": "class Rows:\n    def append(self, call): self.call = call\n"
    "rows = Rows()\nrows.append(look(1))\nawait rows.call",
    "of an object": "work.call = look(1)\nawait work.call",
}

SENDING = "async def send(n):\n    return look(n)\n"
STARTING = "def send(n):\n    return look(n)\n"
ONCE = {
    "as a statement": "await send(1)",
    "in rows": "rows = [await send(n) for n in x]\noutput = len(rows)",
    "together": "rows = await asyncio.gather(*[send(n) for n in x])\noutput = sum(1 for row in rows if row)",
    "together, later": "calls = [send(n) for n in x]\nrows = await asyncio.gather(*calls)\n"
    "output = len(rows)",
    "side by side": "rows = await asyncio.gather(send(1), send(2))\noutput = len(rows)",
    "as the answer": "output = await send(1)",
    "in rows that grow": "for n in x:\n    rows.append(await send(n))\noutput = len(rows)",
    "by another function": "async def other(n):\n    return await send(n)\noutput = await other(1)",
}
TWICE = {
    "at once": "await (await send(1))",
    "by a name": "call = await send(1)\noutput = await call",
    "in a loop": "for n in x:\n    call = await send(n)\n    await call",
    "together": "calls = [await send(n) for n in x]\noutput = await asyncio.gather(*calls)",
    "together twice": "calls = await asyncio.gather(*[send(n) for n in x])\nawait asyncio.gather(*calls)",
    "by whom it is given to": "await keep(await send(1))",
}
NOT_STARTED = {
    "a statement": "send(1)",
    "rows": "rows = [send(n) for n in x]\noutput = len(rows)",
    "the answer": "output = send(1)",
}
STARTED = {
    "at once": "await send(1)",
    "together": "output = await asyncio.gather(*[send(n) for n in x])",
    "together, later": "calls = [send(n) for n in x]\noutput = await asyncio.gather(*calls)",
    "over a list": "output = await asyncio.gather(*map(send, x))",
}


def lines(code: str) -> list[int]:
    """Where an `await` is missing."""
    return sorted({line for line, _ in unawaited(ast.parse(code), {"look", "save"})})


@pytest.mark.parametrize("code", LEFT_OUT.values(), ids=LEFT_OUT)
def test_it_is_found_of_tools_and_of_functions_of_its_own(code: str) -> None:
    assert lines(code) == [1]
    assert lines(OWN + code.replace("look", "own")) == [2]


@pytest.mark.parametrize("code", LEFT.values(), ids=LEFT)
def test_what_is_put_aside_and_left_is_found(code: str) -> None:
    assert lines(code) == [1]
    assert lines(OWN + code.replace("look", "own")) == [2]


@pytest.mark.parametrize("code", GATHERED.values(), ids=GATHERED)
def test_what_is_gathered_is_awaited_too(code: str) -> None:
    whole, short = f"import asyncio\n{code}", f"from asyncio import gather\n{code.replace('asyncio.', '')}"
    for text, name in ((whole, "asyncio.gather"), (short, "gather")):
        assert {*unawaited(ast.parse(text), {"look", "save"})} == {(2, name)}


@pytest.mark.parametrize("code", AWAITED.values(), ids=AWAITED)
def test_what_is_awaited_is_not_found(code: str) -> None:
    assert lines(code) == []
    assert lines(OWN + code.replace("look", "own")) == []


def test_a_name_that_may_be_another_function_is_not_looked_at() -> None:
    assert lines(OWN + "own = len\nawait save(own('a'))") == []
    assert lines("def own(n): return n\nawait save(own(1))") == []


@pytest.mark.parametrize("code", ONCE.values(), ids=ONCE)
def test_a_call_that_an_async_function_gives_back_is_found(code: str) -> None:
    for ahead in ("", "def start(n):\n    return look(n)\n"):
        sending = SENDING.replace("look", "start") if ahead else SENDING
        told = [*unawaited(ast.parse(f"import asyncio\n{ahead}{sending}{code}"), {"look", "save"})]
        assert told == ([(5, "start")] if ahead else [(3, "look")])
    either = SENDING.replace("    return", "    if not n:\n        return None\n    return")
    assert lines(f"import asyncio\n{either}{code}") == [5]


@pytest.mark.parametrize("code", TWICE.values(), ids=TWICE)
def test_one_that_is_awaited_by_who_has_it_is_not(code: str) -> None:
    assert lines(f"import asyncio\n{SENDING}{code}") == []


@pytest.mark.parametrize("code", NOT_STARTED.values(), ids=NOT_STARTED)
def test_a_function_that_gives_calls_has_to_be_awaited(code: str) -> None:
    for ahead in (STARTING, "send = lambda n: look(n)\n\n", STARTING.replace("look", "save")):
        assert lines(ahead + code) == [3]
    assert lines(f"{STARTING}{STARTING.replace('send', 'other').replace('look', 'send')}other(1)") == [5]


@pytest.mark.parametrize("code", STARTED.values(), ids=STARTED)
def test_one_that_is_awaited_is_not_found(code: str) -> None:
    assert lines(f"import asyncio\n{STARTING}{code}") == []
