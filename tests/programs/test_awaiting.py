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
    "in pairs with others": "pairs = zip(x, [look(n) for n in x])",
}


def lines(code: str) -> list[int]:
    """Where an `await` is missing."""
    return [line for line, _ in unawaited(ast.parse(code), {"look", "save"})]


@pytest.mark.parametrize("code", LEFT_OUT.values(), ids=LEFT_OUT)
def test_it_is_found_of_tools_and_of_functions_of_its_own(code: str) -> None:
    assert lines(code) == [1]
    assert lines(OWN + code.replace("look", "own")) == [2]


@pytest.mark.parametrize("code", AWAITED.values(), ids=AWAITED)
def test_what_is_awaited_is_not_found(code: str) -> None:
    assert lines(code) == []
    assert lines(OWN + code.replace("look", "own")) == []


def test_a_name_that_may_be_another_function_is_not_looked_at() -> None:
    assert lines(OWN + "own = len\nawait save(own('a'))") == []
    assert lines("def own(n): return n\nawait save(own(1))") == []
