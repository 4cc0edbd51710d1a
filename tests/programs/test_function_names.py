"""Functions have no names of their own in the sandbox: told before a program is run, where it shows."""

import asyncio

import pytest

from quire.agent import tool
from quire.programs import ProgramFailed, ProgramFault, Task
from quire.programs.sandbox import Sandbox
from tests.programs.coding import coder_of, run

called = list[str]()


@tool
async def fetch(url: str) -> str:
    """Fetch a page."""
    called.append(url)
    return url


OWN = "async def own(url):\n    return await fetch(url)\nfound = await own(url)\n"
ASKED = {
    "a tool": "output = await fetch(url) + fetch.__name__",
    "one of its own": f"{OWN}output = own.__name__",
    "given to another": "async def again(fn, **given):\n    try:\n        return await fn(**given)\n"
    "    finally:\n        print(f'{fn.__name__} was called')\noutput = str(await again(fetch, url=url))",
    "by another name": f"{OWN}other = own\noutput = other.__name__",
    "in a loop": f"{OWN}output = ''\nfor one in (own, fetch):\n    output += one.__name__",
    "with all around it": f"{OWN}output = own.__qualname__",
}
RIGHT = {
    "of a type": "output = str.__name__ + url",
    "of an error": "try:\n    output = str(int(url))\nexcept Exception as error:\n"
    "    output = type(error).__name__",
    "of a class": "class Page:\n    def __init__(self, url: str) -> None:\n        self.url = url\n"
    "output = Page.__name__ + Page(url).url",
    "where it has one": f"{OWN}output = str(getattr(own, '__name__', 'own'))",
    "in case it has one": f"{OWN}output = own.__name__ if hasattr(own, '__name__') else 'own'",
}


def fetching() -> Task:
    return Task("fetch", input={"url": str}, output=str, tools=[fetch])


@pytest.mark.parametrize("code", ASKED.values(), ids=ASKED)
def test_asked_for_it_is_told_before_anything_is_called(code: str) -> None:
    async def work() -> None:
        called.clear()
        with pytest.raises(ProgramFailed, match=r"missing: line \d+, .*__`: a function has no name"):
            await coder_of(code, rounds=1).answer(fetching(), url="a")
        assert called == []

    run(work)


@pytest.mark.parametrize("code", RIGHT.values(), ids=RIGHT)
def test_what_has_a_name_or_may_have_none_passes(code: str) -> None:
    async def work() -> None:
        assert (await coder_of(code, rounds=1).answer(fetching(), url="a")).value

    run(work)


@pytest.mark.parametrize("function", ["{'a': own}['a']", "(lambda n: n)", "print"])
def test_what_no_text_shows_is_missing_when_it_is_run(function: str) -> None:
    code = f"def own():\n    return 1\noutput = {function}.__name__"
    with pytest.raises(ProgramFault, match="only a part of Python") as failed:
        asyncio.run(Sandbox(workers=1).run(code))
    assert failed.value.kind == "missing"
