"""Programs that mean harm: none reaches the host, each ends within its limits, and nothing is left."""

import asyncio
import ctypes
import gc
import os
import resource
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from quire.programs.bounds import Bounds
from quire.programs.checking import checked
from quire.programs.faults import ProgramFault
from quire.programs.sandbox import Sandbox

SECRET = "quire-secret-of-the-host"
BOUNDS = Bounds(seconds=0.5, wall=1.0, memory=16 << 20, depth=100, calls=20, printed=2_000, answer=5_000)


ROUNDS, ALL_ROUNDS = 7, 28
LEAK = 64 << 10
"""Bytes that each program may leave: far less than what any of them floods, answers or raises."""


def caught(line: str) -> str:
    """A program that does something over and over, whatever is raised."""
    return f"while True:\n    try:\n        {line}\n    except BaseException: pass\n1"


REACHING = {
    "reads a file": "open('/etc/passwd').read()",
    "reads a file by path": "from pathlib import Path\nPath('/etc/passwd').read_text()",
    "reads its environment by file": "open('/proc/self/environ').read()",
    "reads the memory of its host": "open(f'/proc/{1}/mem', 'rb').read(10)",
    "writes a file": "f = open('/tmp/quire-was-here', 'w')\nf.write('x')\nf.close()\n1",
    "writes a file by path": "from pathlib import Path\nPath('/tmp/quire-was-here').write_text('x')",
    "makes a folder": "from pathlib import Path\nPath('/tmp/quire-was-here').mkdir()\n1",
    "lists a folder": "import os\nos.listdir('/')",
    "lists by path": "from pathlib import Path\n[str(one) for one in Path('/').iterdir()]",
    "walks up": "open('../../../../etc/passwd').read()",
    "removes": "import os\nos.remove('/etc/passwd')\n1",
    "renames": "import os\nos.rename('/etc/passwd', '/etc/p')\n1",
    "goes elsewhere": "import os\nos.chdir('/etc')\nopen('passwd').read()",
    "reads the environment": "import os\nstr(os.environ)",
    "reads a variable": "import os\nos.getenv('QUIRE_SECRET')",
    "runs a command": "import os\nos.system('id')",
    "opens a pipe": "import os\nos.popen('id').read()",
    "starts a process": "import subprocess\nsubprocess.run(['id'])\n1",
    "forks": "import os\nos.fork()",
    "kills": "import os\nos.kill(os.getppid(), 9)\n1",
    "ends the process": "import os\nos._exit(3)\n1",
    "exits": "import sys\nsys.exit(3)\n1",
    "raises the exit": "raise SystemExit('x')\n1",
    "opens a socket": "import socket\nsocket.socket()\n1",
    "asks the network": "import urllib.request\nurllib.request.urlopen('http://127.0.0.1').read()",
    "imports by name": "__import__('os').system('id')",
    "imports by importlib": "import importlib\nimportlib.import_module('os')\n1",
    "looks at modules": "import sys\nsys.modules['os']\n1",
    "calls into C": "import ctypes\nctypes.CDLL(None)\n1",
    "imports builtins": "import builtins\nbuiltins.open('/etc/passwd').read()",
    "imports a file": "import sys\nsys.path.append('/tmp')\nimport evil\n1",
    "unpickles": "import pickle\npickle.loads(b\"cos\\nsystem\\n(S'id'\\ntR.\")\n1",
    "unmarshals": "import marshal\nmarshal.loads(b'c')\n1",
    "walks classes": "().__class__.__base__.__subclasses__()",
    "walks globals": "(lambda: 1).__globals__['os']",
    "walks a host function": "given.__globals__",
    "walks the code of a host function": "str(given.__code__.co_filename)",
    "walks a closure": "given.__closure__[0].cell_contents",
    "walks by getattr": "getattr(getattr((), '__cla' + 'ss__'), '__ba' + 'se__')",
    "walks by a format": "'{0.__class__.__mro__}'.format(1)",
    "walks by a format of a host function": "'{0.__globals__}'.format(given)",
    "walks by an f-string": "f'{given.__globals__}'",
    "walks a frame": "try:\n    1 / 0\nexcept Exception as e:\n    x = str(e.__traceback__.tb_frame)\nx",
    "asks for globals": "str(globals())",
    "asks for builtins": "str(__builtins__)",
    "evaluates": "eval(\"__import__('os').system('id')\")",
    "executes": "exec(\"import os\\nos.system('id')\")\n1",
    "compiles": "exec(compile('import os', 'x', 'exec'))\n1",
    "calls what it was not given": "await delete_everything()",
    "calls what is ours": "await quire_checked_until_here()",
    "asks a person": "input('password')",
    "breaks into the debugger": "breakpoint()\n1",
    "sets a hook": "import sys\nsys.settrace(print)\n1",
}
EATING = {
    "computes for ever": "while True: pass\n1",
    "computes in a comprehension": "[x * y for x in range(10**6) for y in range(10**6)]",
    "catches the limit of time": caught("while True: pass"),
    "catches the limit of memory": "x = []\n" + caught("x.append('y' * 10**6 + str(len(x)))"),
    "sleeps for ever": "import time\ntime.sleep(10**9)\n1",
    "sleeps in asyncio": "import asyncio\nawait asyncio.sleep(10**9)\n1",
    "sleeps over and over": "import asyncio\nwhile True: await asyncio.sleep(0)\n1",
    "grows a list": "x = []\nwhile True: x.append('y' * 1000 + str(len(x)))\n1",
    "repeats a list": "x = [0] * 10**10\n1",
    "doubles a text": "x = 'ab'\nwhile True: x += x\n1",
    "repeats a text": "len('x' * 10**11)",
    "pads a text": "len('x'.rjust(10**11))",
    "formats wide": "len(f'{1:>99999999999}')",
    "fills a dict": "{n: str(n) * 100 for n in range(10**8)}\n1",
    "raises a huge power": "x = 10 ** (10 ** 9)\n1",
    "shifts far": "x = 1 << (10 ** 12)\n1",
    "multiplies": "x = 3\nwhile True: x *= x\n1",
    "writes a huge number": "str(7 ** 10**6)",
    "matches for ever": "import re\nstr(re.match('(a+)+$', 'a' * 40 + 'b'))",
    "compiles a huge pattern": "import re\nstr(re.compile('(' * 10**5 + ')' * 10**5))",
    "repeats in a pattern": "import re\nstr(re.match('(a{1000}){1000}{1000}', 'a' * 10))",
    "calls itself": "def f(): return f()\nf()",
    "calls itself in turns": "def f(): return g()\ndef g(): return f()\nf()",
    "nests a value": "x = []\nfor _ in range(10**6): x = [x]\nx",
    "nests a tree that shares": "x = []\nfor _ in range(80): x = [x, x]\nx",
    "nests a set-like tree": "x = {1}\nfor _ in range(80): x = [x, x]\nx",
    "gives a tree that shares to a function": "x = ['a']\nfor _ in range(80): x = [x, x]\nawait given(x)",
    "nests in the text": "(" * 5_000 + "1" + ")" * 5_000,
    "chains in the text": "+".join(["1"] * 20_000),
    "negates in the text": "-" * 20_000 + "1",
    "is many lines": "\n" * 49_000 + "output = 1",
    "is many names": "".join(f"n{n}\n" for n in range(7_000)) + "1",
    "is many brackets": "x = " + "[" * 190 + "]" * 190 + "\n1",
    "is a huge number": "x = " + "9" * 40_000 + "\n1",
    "is a huge text": "x = '" + "a" * 300_000 + "'\nx",
    "floods": "while True: print('x' * 1000)\n1",
    "floods and catches": caught("print('x' * 10000)"),
    "floods in one text": "print('x' * 5_000_000)\n1",
    "floods the errors": "import sys\nwhile True: print('x' * 1000, file=sys.stderr)\n1",
    "answers hugely": "'x' * 1_000_000",
    "answers many": "list(range(100_000))",
    "answers itself": "x = []\nx.append(x)\nx",
    "answers itself in a dict": "x = {}\nx['x'] = x\nx",
    "answers no number": "float('nan')",
    "answers for ever": "float('inf')",
    "answers a function": "[given]",
    "raises hugely": "raise ValueError('x' * 5_000_000)\n1",
    "calls a thousand times": "for _ in range(1000): await given(1)\n1",
    "calls at once": "import asyncio\nawait asyncio.gather(*[given(n) for n in range(1000)])\n1",
    "calls and catches": caught("await given(1)"),
    "looks up for ever": "while True:\n    try:\n        no_such_name\n    except NameError: pass\n1",
    "patches json": "import json\njson.dumps = lambda *a, **k: 'x' * 10**6\n1",
    "sorts by calling": "sorted(range(10**7), key=lambda n: -n)\n1",
    "counts products": "import itertools\nsum(1 for _ in itertools.product(range(1000), repeat=5))",
}
FORGED = {
    "forges a function": ("async def given(n): return 'forged'\nawait given(1)", "forged"),
    "forges an answer": ("_quire_answer = 5\n_quire_last = 6\n7", 7),
    "forges json": ("_quire_json = None\n7", 7),
    "hides the builtins": ("list = dict = str = len = print = None\n[7]", [7]),
    "answers what looks like ours": ("['Object of type', {'a': 1}]", ["Object of type", {"a": 1}]),
    "shows a text like a function": ("'<function f at 0x1>'", "<function f at 0x1>"),
    "is only odd": ("x = '\\udcff' if False else 'ok'\nx", "ok"),
}
BY_TEXT = {
    "defines a function by text": "exec('async def given(n): return 1')\nawait given(1)",
    "binds a function's name by text": "exec('given = 5')\nstr(given)",
    "binds it from within": "def f():\n    exec('global given\\ngiven = 5')\nf()\nstr(given)",
    "calls a function by text": "await eval('given')(1)",
    "calls it by a name that was found": "f = eval('given')\n[await f(n) for n in range(5)]",
    "evaluates by another name": "e = eval\nawait e('given')(1)",
    "executes by another name": "for run in [exec]:\n    run('given = 5')\nstr(given)",
    "hides what it uses behind its own": "def f(eval):\n    return 1\nawait eval('given')(1)",
    "finds its names by text": "f = given\nawait locals()['f'](1)",
    "asks for names within": "def f():\n    return locals()\nstr(f())",
}


async def given(*values: Any) -> int:
    return len(values)


async def ended(sandbox: Sandbox, code: str) -> Any:
    """The answer of a program, or its fault."""
    try:
        return (await sandbox.run(code, functions={"given": given}, bounds=BOUNDS)).value
    except ProgramFault as fault:
        return fault


def answer(code: str) -> Any:
    return asyncio.run(ended(Sandbox(workers=1), code))


@pytest.mark.parametrize("code", REACHING.values(), ids=REACHING)
def test_nothing_of_the_host_is_reached(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUIRE_SECRET", SECRET)
    found = answer(code)
    assert isinstance(found, ProgramFault) or found in (1, None, "None"), found
    told = f"{found} {getattr(found, 'printed', '')}"
    assert SECRET not in told and "root:" not in told and __file__ not in told
    assert not Path("/tmp/quire-was-here").exists()


@pytest.mark.parametrize("code", EATING.values(), ids=EATING)
def test_each_ends_within_its_limits(code: str) -> None:
    found = answer(code)
    if isinstance(found, ProgramFault):
        assert len(str(found)) < 3_000 and len(found.printed) <= BOUNDS.printed
    else:
        assert len(str(found)) <= 2 * BOUNDS.answer


@pytest.mark.parametrize("case", FORGED.values(), ids=FORGED)
def test_a_forger_only_deceives_itself(case: tuple[str, Any]) -> None:
    code, value = case
    assert answer(code) == value


@pytest.mark.parametrize("code", BY_TEXT.values(), ids=BY_TEXT)
def test_names_that_are_found_by_texts_are_refused(code: str) -> None:
    stubs = "from typing import Any\nasync def given(n: int) -> Any: ...\n"
    with pytest.raises(ProgramFault, match="is not for programs") as refused:
        asyncio.run(checked(code, stubs, {"given"}, None, Sandbox(workers=1)))
    assert refused.value.kind == "names"


@pytest.mark.parametrize("name", ["given", "_quire_host_given"])
@pytest.mark.parametrize("binding", ["async def {}(n): return 1", "{} = 5", "for {} in [5]: pass"])
def test_no_function_is_forged_by_any_of_its_names(name: str, binding: str) -> None:
    stubs = "from typing import Any\nasync def given(n: int) -> Any: ...\n"
    with pytest.raises(ProgramFault, match="exists already") as refused:
        asyncio.run(
            checked(f"{binding.format(name)}\nawait given(1)", stubs, {"given"}, None, Sandbox(workers=1))
        )
    assert refused.value.kind == "names"


def _own_memory() -> int:
    """What this process holds, without what is free and was not given back yet."""
    gc.collect()
    give_back = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if give_back is not None:
        give_back(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def workers_of(process: int) -> dict[int, int]:
    """The memory of each worker of a process, in bytes."""
    listed = subprocess.run(["ps", "-eo", "pid,ppid,rss,comm"], capture_output=True, text=True, check=True)
    rows = (line.split(None, 3) for line in listed.stdout.splitlines()[1:])
    return {
        int(row[0]): int(row[2]) * 1024
        for row in rows
        if int(row[1]) == process and row[3].startswith("monty")
    }


def levels_off(memory: list[int], programs: int) -> bool:
    """An allocator keeps more for a while; what leaks grows in every round, however many there are."""
    grown = [later - earlier for earlier, later in pairwise(memory[-ROUNDS:])]
    return len(memory) >= ROUNDS and median(grown) < LEAK * programs


def test_nothing_is_left_of_them() -> None:
    programs = [*REACHING.values(), *EATING.values()]

    async def all_of_them() -> tuple[list[int], dict[int, int]]:
        sandbox, memory = Sandbox(workers=4), list[int]()
        while len(memory) < ALL_ROUNDS and not levels_off(memory, len(programs)):
            await asyncio.gather(*(ended(sandbox, code) for code in programs))
            memory.append(_own_memory())
        left = workers_of(os.getpid())
        await ended(sandbox, "1")
        return memory, left

    memory, left = asyncio.run(all_of_them())
    assert all(size < 200 << 20 for size in left.values())
    assert workers_of(os.getpid()) == {}
    assert levels_off(memory, len(programs)), memory


BUSY = """
import asyncio, os
from quire.programs.bounds import Bounds
from quire.programs.sandbox import Sandbox
async def main():
    sandbox = Sandbox()
    await sandbox.run("1")
    tell = lambda text: print("busy", flush=True)
    await sandbox.run("print(1)\\nwhile True: pass\\n1", bounds=Bounds(seconds=1.0), tell=tell)
asyncio.run(main())
"""


def test_workers_end_with_a_process_that_is_killed() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=pipe, stderr=pipe, text=True) as child:
        assert child.stdout is not None and child.stderr is not None
        assert child.stdout.readline() == "busy\n"
        assert workers_of(child.pid)
        child.kill()
        # Workers have the errors of whoever started them: this ends when the last of them has ended.
        assert child.stderr.read() == ""
