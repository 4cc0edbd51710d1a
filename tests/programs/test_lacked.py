"""Parts of modules and types that the sandbox lacks: told before a program is run, and its own fault."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

import pytest

from quire.programs import Event, ProgramFault, SetAside, Task
from quire.programs.sandbox import Sandbox
from quire.programs.sandbox.lacked import CALLED, HELD, KEYWORDS, METHODS, MODULES, NAMES, TYPES
from quire.programs.stubs import stubs_of
from tests.programs.coding import coder_of, run

STUBS = stubs_of([], None, None)
VALUES = (
    *("'a'", "1", "1.5", "True", "b'a'", "[]", "{}", "{1}", "frozenset()", "()", "range(3)"),
    *("datetime.datetime(2026, 1, 1)", "datetime.date(2026, 1, 1)", "datetime.time(1)"),
    *("datetime.timedelta(1)", "datetime.timezone.utc", "decimal.Decimal(1)", "re.compile('a')"),
    *("re.match('a', 'a')", "collections.Counter()", "collections.defaultdict(int)", "collections.deque()"),
)
MANY = 200
"""Expressions that one program is asked for: it may be so long only."""

IMPORTS = "import collections, dataclasses, datetime, decimal, json, os, pathlib, re, typing\n"


def lacking(expressions: Iterable[str]) -> set[str]:
    """Those of which the sandbox says that something has no such attribute."""

    async def work() -> set[str]:
        sandbox, found, every = Sandbox(), set[str](), list(expressions)
        for at in range(0, len(every), MANY):
            lines = [
                f"try:\n    {one}\nexcept AttributeError as wrong:\n    found.append({one!r})\n"
                "except Exception:\n    pass"
                for one in every[at : at + MANY]
            ]
            ran = await sandbox.run("\n".join([f"{IMPORTS}found = []", *lines, "found"]))
            found |= {*ran.value}
        return found

    return asyncio.run(work())


def test_what_modules_lack_is_not_there() -> None:
    paths = [f"{module}.{name}" for module, names in NAMES.items() for name in names]
    assert lacking(paths) == {*paths}


def test_keywords_that_lack_are_not_taken() -> None:
    given = {"asyncio.run": "asyncio.sleep(0)", "json.dumps": "{}", "json.loads": "'1'"}
    for path, names in KEYWORDS.items():
        for name in names:
            with pytest.raises(ProgramFault, match=name if path[:4] == "json" else "one argument") as raised:
                code = f"import asyncio, json\n{path}({given[path]}, {name}=None)\n1"
                asyncio.run(Sandbox(workers=1).run(code))
            assert raised.value.kind == "missing"


OWN_FAULTS = {
    "a function of its own": "def own(a):\n    return a\nf = own\noutput = str(f(**{'b': text}))",
    "a class of its own": "class Own:\n    def __init__(self, a):\n        self.a = a\n"
    "f = Own\noutput = str(f(**{'b': text}).a)",
    "a number that is no whole one": "n = len(text) + 0.5\noutput = str([*range(n)])",  # as in Python
}


@pytest.mark.parametrize("code", OWN_FAULTS.values(), ids=OWN_FAULTS)
def test_what_python_refuses_too_is_not_missing(code: str) -> None:
    with pytest.raises(ProgramFault) as raised:
        asyncio.run(Sandbox(workers=1).run(code, inputs={"text": "a"}))
    assert raised.value.kind == "raised"


@pytest.mark.parametrize("module", sorted(MODULES))
def test_a_module_that_lacks_is_not_there(module: str) -> None:
    with pytest.raises(ProgramFault, match="No module named"):
        asyncio.run(Sandbox(workers=1).run(f"import {module}\n1"))


def test_methods_that_lack_are_those_of_no_value() -> None:
    calls = [f"({value}).{name}()" for name in sorted(METHODS) for value in VALUES]
    assert lacking(calls) == {*calls}


def test_types_have_what_is_said_and_nothing_else() -> None:
    paths = {f"{path}.{name}" for path, kind in TYPES.items() for name in dir(kind) if name[0] != "_"}
    held = {f"{path}.{name}" for path, names in HELD.items() for name in names}
    called = {f"{path}.{name}" for path, names in CALLED.items() for name in names}
    assert paths - lacking(paths) == held
    assert paths - {call[:-2] for call in lacking(f"{path}()" for path in paths)} == held | called


LACKING = {
    "of a type": (
        "from datetime import datetime\ndatetime.utcnow().isoformat()",
        "`datetime.datetime.utcnow`",
    ),
    "by its module": ("import datetime as d\nd.date.fromtimestamp(0).year", "`datetime.date.fromtimestamp`"),
    "of a value": ("from datetime import date\ndate(2026, 1, 1).isocalendar()[1]", "`isocalendar`"),
    "of a number": ("x = 1.5\nx.is_integer()", "`is_integer`"),
    "of a module": ("import re\nre.findall('a # b', 'a', re.VERBOSE)", "`re.VERBOSE`"),
    "imported": ("from datetime import UTC, datetime\nstr(datetime.now(UTC))", "`datetime.UTC`"),
    "a module": ("from collections.abc import Callable\n1", "`collections.abc`"),
    "a method of a type": ("sorted(['b', 'A'], key=str.lower)", "`str.lower`: a method is no value"),
    "mapped": ("list(map(str.strip, [' a']))", "`str.strip`: a method is no value"),
    "one that can be called": (
        "from datetime import date\n[str(d) for d in map(date.fromisoformat, ['2026-01-01'])]",
        "`datetime.date.fromisoformat`: a method is no value",
    ),
    "a method of a value": ("d = {'a': 1}\nmax(d, key=d.get)", "`.get`: a method is no value"),
    "a method of a text": ("x = ' '.join\nx(['a'])", "`.join`: a method is no value"),
    "a method of texts": ("'a'.translate({97: 'b'})", "`translate`"),
    "a keyword": ("import json\njson.dumps({'a': 1}, default=str)", "`json.dumps` has no `default`"),
    "a keyword of what is imported": ("from json import loads as l\nl('1', cls=None)", "has no `cls`"),
    "a fraction": ("from datetime import timedelta\nstr(timedelta(hours=1.5))", "takes whole numbers"),
    "a part": ("import datetime as d\nstr(d.timedelta(1, seconds=-3 / 2))", "takes whole numbers"),
    "times a fraction": (
        "from datetime import timedelta\nstr(1.5 * timedelta(days=1))",
        "takes whole numbers",
    ),
}


@pytest.mark.parametrize("case", LACKING.values(), ids=LACKING)
def test_it_is_told_before_anything_is_run(case: tuple[str, str]) -> None:
    code, words = case
    with pytest.raises(ProgramFault) as told:
        asyncio.run(Sandbox(workers=1).check(code, STUBS))
    assert told.value.kind == "missing" and words in str(told.value)
    with pytest.raises(ProgramFault) as failed:
        asyncio.run(Sandbox(workers=1).run(code))
    assert failed.value.kind == "missing" and failed.value.line == told.value.line


PASSING = {
    "what types have": "from datetime import date, datetime\n"
    "[date.max.year, datetime.fromisoformat('2026-01-01').year, dict.fromkeys('a', 1)]",
    "functions of modules": "import json, math\n[*map(json.loads, ['1']), *sorted([1.5], key=math.floor)]",
    "one of a module by that name": "import time\ntime.ctime(0)[:3]",
    "a method of its own": "class A:\n    def expand(self, n):\n        return n\n"
    "a = A()\n[a.expand(1), *map(a.expand, [2])]",
    "a function that it holds": "class A:\n    def __init__(self):\n"
    "        self.subn = lambda n: n\nA().subn(1)",
    "a name of its own": "class datetime:\n    def utcnow(self):\n        return 1\ndatetime().utcnow()",
    "where it tried first": "from datetime import timezone\n"
    "try:\n    from datetime import UTC\nexcept ImportError:\n    UTC = timezone.utc\nstr(UTC)",
    "in annotations": "import datetime, typing\n"
    "def f(a: datetime.tzinfo) -> typing.Text:\n    return str(a)\n1",
    "for the checker": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from typing import cast\n1",
    "a field of that name": "from dataclasses import dataclass\n@dataclass\nclass Row:\n    count: int\n"
    "rows = [Row(2), Row(1)]\nmax(rows, key=lambda row: row.count).count",
}


@pytest.mark.parametrize("code", PASSING.values(), ids=PASSING)
def test_nothing_is_said_of(code: str) -> None:
    async def work() -> None:
        sandbox = Sandbox(workers=1)
        await sandbox.check(code, STUBS)
        await sandbox.run(code)

    run(work)


UNSEEN = {
    "of a type": "from datetime import datetime\noutput = str(getattr(datetime, 'fromtimestamp')(0))",
    "of a value": "from datetime import date\noutput = str(getattr(date(2026, 1, 1), 'toordinal')())",
    "of a pattern": "import re\noutput = str(getattr(re.compile('a'), 'subn')('a', text))",
    "of a counter": "from collections import Counter\noutput = str(getattr(Counter, 'most_common'))",
    "bytes of numbers": "output = bytes([65]).decode()",
    "keywords": "import json\nwritten = json.dumps\noutput = written(text, default=str)",
    "a keyword of a date": "from datetime import datetime\nday = datetime(2026, 1, 1)\n"
    "output = str(day.replace(fold=0))",
    "where to begin": "import re\noutput = str(re.compile('a').search(text, 0))",
    "what groups are else": "import re\nfound = re.compile('(a)').search(text)\n"
    "assert found\noutput = str(found.groups(default='x'))",
    "a fraction": "from datetime import timedelta\nhours = len(text) + 0.5\n"
    "output = str(timedelta(hours=hours))",
    "times a fraction": "from datetime import timedelta\nday = timedelta(days=1)\noutput = str(day * 1.5)",
}


@pytest.mark.parametrize("code", UNSEEN.values(), ids=UNSEEN)
def test_a_kept_program_that_finds_it_lacking_is_set_aside(code: str, tmp_path: Path) -> None:
    async def work() -> None:
        task = Task("tell", input={"text": str}, output=str)
        coder = coder_of(code, "output = text", kept=tmp_path)
        kept, events = await coder.keep(task), list[Event]()
        with pytest.raises(ProgramFault, match="only a part of Python") as failed:
            await kept.run(text="a", tell=events.append)
        assert failed.value.kind == "missing"
        assert [event for event in events if isinstance(event, SetAside)]
        assert await (await coder.keep(task))(text="a") == "a"

    run(work)
