"""What reaches for files or the environment, and functions as replacements: told before a program is run."""

import asyncio
import os
import pathlib
from collections.abc import Iterable

import pytest

from quire.programs import ProgramFault
from quire.programs.sandbox import Sandbox
from quire.programs.sandbox.lacked import ENVIRONMENT, FILES, OF_PATHS
from quire.programs.stubs import stubs_of
from tests.programs.coding import run

STUBS = stubs_of([], None, None)
ARGUMENTS = ("", "'a'", "'a', 'b'", "b'a'")
HELD = {"os": "os", "os.path": "os.path", "pathlib.Path": "pathlib.Path('a')"}
FIND_NOTHING = {"pathlib.Path": {"glob", "rglob"}}
"""Those that refuse nothing: they say that there is no file."""

MANY = 150


def caught(names: Iterable[str], error: str, arguments: Iterable[str] = ARGUMENTS) -> set[str]:
    """Those that raise an error in the sandbox once they are called."""
    every = [(name, f"{name}({given})") for name in names for given in arguments]

    async def work() -> set[str]:
        sandbox, found = Sandbox(workers=1), set[str]()
        for at in range(0, len(every), MANY):
            lines = [
                f"try:\n    {call}\nexcept {error}:\n    found.append({name!r})\nexcept Exception:\n    pass"
                for name, call in every[at : at + MANY]
            ]
            ran = await sandbox.run("\n".join(["import os, pathlib\nfound = []", *lines, "found"]))
            found |= {*ran.value}
        return found

    return asyncio.run(work())


@pytest.mark.parametrize("path", FILES)
def test_what_reaches_for_files_is_refused_them_and_nothing_else_is(path: str) -> None:
    held = {"os": os, "os.path": os.path, "pathlib.Path": pathlib.Path}[path]
    names = {f"{HELD[path]}.{name}" for name in dir(held) if name[0] != "_"}
    said = {f"{HELD[path]}.{name}" for name in FILES[path] - FIND_NOTHING.get(path, set())}
    assert caught(names, "PermissionError") == said


def test_where_nothing_is_refused_nothing_is_found() -> None:
    code = "from pathlib import Path\n[len(list(Path('/').glob('*'))), len(list(Path('/').rglob('*')))]"
    assert asyncio.run(Sandbox(workers=1).run(code)).value == [0, 0]


def test_paths_lack_what_is_said() -> None:
    names = {f"pathlib.Path('a').{name}" for name in OF_PATHS}
    assert caught(names, "AttributeError", ("",)) == names


@pytest.mark.parametrize("path", sorted(ENVIRONMENT))
def test_there_is_no_environment(path: str) -> None:
    with pytest.raises(ProgramFault, match="not supported in this environment"):
        called = path.replace("getenv", "getenv('a')")
        asyncio.run(Sandbox(workers=1).run(f"import os\n{called}\n1"))


NO_FILES = "there are no files"
LACKING = {
    "a variable": ("import os\nos.environ['A']", "no environment"),
    "one that may be there": ("import os as o\no.environ.get('A', '')", "`os.environ`"),
    "by a function": ("from os import getenv\ngetenv('A')", "`os.getenv`"),
    "a folder": ("import os\nos.listdir('.')", NO_FILES),
    "a file": ("import os\nos.path.exists('a')", "`os.path.exists`"),
    "by the module of paths": ("import os.path\nos.path.getsize('a')", NO_FILES),
    "by its parts": ("from os import path\npath.isfile('a')", NO_FILES),
    "by its name": ("from os.path import isdir as d\nd('a')", NO_FILES),
    "a path": ("from pathlib import Path\nPath('a').read_text()", "`pathlib.Path.read_text`"),
    "a path of a module": ("import pathlib\npathlib.Path('a').exists()", NO_FILES),
    "a path under a name": ("from pathlib import Path\np = Path('a')\np.write_text('a')", NO_FILES),
    "a path of paths": ("from pathlib import Path\np = Path('a') / 'b'\nq = p.parent\nq.mkdir()", NO_FILES),
    "one beside it": ("from pathlib import Path\n[*Path('a').with_suffix('.b').iterdir()]", NO_FILES),
    "none that is found": ("from pathlib import Path\n[str(p) for p in Path.cwd().glob('*')]", NO_FILES),
    "what a path lacks": ("from pathlib import Path\nstr(Path('a/b').relative_to('a'))", "only a part"),
    "a lambda": ("import re\nre.sub('a', lambda m: 'b', 'a')", "re.finditer"),
    "a function of its own": ("import re\ndef f(m):\n    return 'b'\nre.sub('a', f, 'a')", "re.finditer"),
    "a lambda under a name": (
        "import re\nf = lambda m: 'b'\nre.sub('a', repl=f, string='a')",
        "takes a text",
    ),
    "by a name of its own": ("from re import sub as s\ns('a', lambda m: 'b', 'a')", "takes a text"),
    "by a pattern": ("import re\nre.compile('a').sub(lambda m: 'b', 'a')", "takes a text"),
    "by one under a name": ("import re\np = re.compile('a')\np.sub(lambda m: 'b', 'a')", "takes a text"),
}


@pytest.mark.parametrize("case", LACKING.values(), ids=LACKING)
def test_it_is_told_before_anything_is_run(case: tuple[str, str]) -> None:
    code, words = case
    with pytest.raises(ProgramFault) as told:
        asyncio.run(Sandbox(workers=1).check(code, STUBS))
    assert told.value.kind == "missing" and words in str(told.value)
    assert told.value.line == code.count("\n") + 1


PASSING = {
    "texts of paths": "import os\n[os.path.join('a', 'b'), os.path.splitext('a.b')[1], os.sep, os.getcwd()]",
    "parts of paths": "from pathlib import Path\np = Path('a') / 'b.c'\n[p.name, p.stem, str(p.parent)]",
    "a method of texts": "from pathlib import Path\np = Path('a')\nstr(p).replace('a', 'b')",
    "a text in its place": "import re\n[re.sub('a', 'b', 'a'), re.compile('a').sub('b', 'a')]",
    "a text under a name": "import re\ndef sub(with_):\n    return re.sub('a', with_, 'a')\nsub('b')",
    "a text that a function gives": "import re\ndef f():\n    return 'b'\nre.sub('a', f(), 'a')",
    "a name that is another": "import re\nf = lambda m: 'b'\nf = 'b'\nre.sub('a', f, 'a')",
    "functions of its own": "def listdir(a):\n    return [a]\ndef sub(a, b, c):\n    return b(a)\n"
    "[listdir('a'), sub('a', lambda m: m, 'c')]",
    "methods of its own": "class Files:\n    def exists(self):\n        return True\np = Files()\np.exists()",
    "a name of a module of its own": "class os:\n    environ = {'a': 1}\nos.environ['a']",
    "what is imported only": "from os import getenv\nfrom os.path import exists, join\njoin('a', 'b')",
}


@pytest.mark.parametrize("code", PASSING.values(), ids=PASSING)
def test_nothing_is_said_of(code: str) -> None:
    async def work() -> None:
        sandbox = Sandbox(workers=1)
        await sandbox.check(code, STUBS)
        await sandbox.run(code)

    run(work)
