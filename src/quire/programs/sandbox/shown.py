"""Things of a program that are no data: the sandbox hands them over as a text that shows them.

They are known again by the forms of these texts. A text of the program's own that is of such a form from end
to end is taken for the thing that it shows.
"""

import builtins
import re

_OF_PYTHON = "|".join(name for name in vars(builtins) if name.isidentifier())
_FORMS = {
    r"<coroutine (object \S+|external_future\(\d+\))>|<gather\(\d+\)>": (
        "a coroutine: was an `await` left out?"
    ),
    r"<function ('[^']*'|\S+) at 0x[0-9a-f]+>|<bound method>|functools\.partial\(<.*\)": ("a function"),
    r"dict_(keys|values|items)\(\[.*\]\)": "a view of a dict: write `list(...)` around it",
    r"range\(-?\d+, -?\d+(, -?\d+)?\)": "a range: write `list(...)` around it",
    r"<re\.Match object; span=\(\d+, \d+\), match=.*>": "a match: take its groups",
    r"<[\w.]+ object( at 0x[0-9a-f]+)?>": "an iterator or an object: write `list(...)` around an iterator",
    r"slice\((None|-?\d+), (None|-?\d+), (None|-?\d+)\)": "a slice",
    r"re\.compile\((['\"]).*\1(, re\.[\w.|]+)?\)": "a pattern",
    # The types of Python itself cross as types: this is what a program made of them.
    rf"<class '(?!({_OF_PYTHON})')\w+'>": "a class",
    r"<module '[\w.]+'>": "a module",
    r"\[\.\.\.\]|\{\.\.\.\}": "itself",
}
_THINGS = tuple((re.compile(form, re.DOTALL), words) for form, words in _FORMS.items())
_BEGINNINGS = ("<", "dict_", "range(", "slice(", "functools.partial(", "re.compile(", "[...]", "{...}")
"""No other text is looked at any further: most are not of these, and there may be many."""


def thing_shown(text: str) -> str | None:
    """What a text that crossed from the sandbox stands for, in words; None where it is a text."""
    if not text.startswith(_BEGINNINGS):
        return None
    return next((words for form, words in _THINGS if form.fullmatch(text)), None)
