"""Functions of the host as a program has them: async functions of its own that call the host when awaited.

The sandbox tells the host of a call as soon as it is written, and never which of those it waits for. What a
program puts aside and does not await is not done in Python. So it is not done here, and it is counted.
"""

from collections.abc import Iterable
from keyword import iskeyword

AHEAD_OF_ALL = "<python-input-0>"
"""What the sandbox calls the text that is run before a program."""

OURS = "_quire"
"""What names begin with that are for the text around a program, and for none in it."""

DEPTH = 2
"""How many calls of ours may come on top of those of a program: a function of the host takes two."""

_HOST = f"{OURS}_host_"

LEFT = f"{OURS}_left"
"""Where a program has how many calls of each function were written and not begun."""

OWN = f"{OURS}_own"
"""What stands before an async function of the program's own, with its name: it counts calls of that."""

_COUNTED = f"""
def {OWN}(name):
    def counted(function):
        def called(*given, **named):
            made = function(*given, **named)
            {LEFT}[name] = {LEFT}.get(name, 0) + 1
            return made
        return called
    return counted"""
_FUNCTION = """
def {name}(*given, **named):
    {left}["{name}"] += 1
    return _quire_begun_{name}(given, named)
async def _quire_begun_{name}(given, named):
    {left}["{name}"] -= 1
    return await {host}{name}(*given, **named)"""


def functions_ahead(names: Iterable[str]) -> str:
    """The text that gives a program its functions."""
    legal = [name for name in names if name.isidentifier() and not iskeyword(name)]
    functions = "".join(_FUNCTION.format(name=name, left=LEFT, host=_HOST) for name in legal)
    return f"{LEFT} = {dict.fromkeys(legal, 0)}{_COUNTED}{functions}"


def called_by(name: str) -> str:
    """The function that a program means where the host is called by a name."""
    return name.removeprefix(_HOST)
