"""The tree in the docstring of `quire.errors` is the tree of its classes."""

import builtins
import pickle
import re

import pytest

from quire import errors
from quire.errors import (
    CodecError,
    Damaged,
    Irreducible,
    MissingExtra,
    QuireError,
    Unencodable,
    UnknownId,
    UnknownKey,
)

LINE = re.compile(
    r"^ {4}(?P<stem>[│├└─ ]*)(?P<name>[A-Z]\w+)(?: \((?P<builtin>\w+)\))?(?: {2,}(?P<says>\S.*))?$"
)


def drawn() -> dict[str, tuple[str | None, str | None]]:
    """Every class of the drawing with its parent in it and the builtin it names."""
    tree: dict[str, tuple[str | None, str | None]] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if found := LINE.match(line):
            path = path[: len(found["stem"]) // 4]
            tree[found["name"]] = (path[-1] if path else None, found["builtin"])
            path.append(found["name"])
    return tree


def classes() -> dict[str, type[Exception]]:
    """The public classes that the module defines."""
    found = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    return {kind.__name__: kind for kind in found if not kind.__name__.startswith("_")}


def test_the_drawing_names_every_class_and_no_other() -> None:
    assert len(drawn()) > 15
    assert set(drawn()) == set(classes())


@pytest.mark.parametrize("name", drawn())
def test_every_class_has_the_parents_that_are_drawn(name: str) -> None:
    parent, builtin = drawn()[name]
    kind = classes()[name]
    public = [base.__name__ for base in kind.__mro__[1:] if base.__name__ in drawn()]
    assert public[:1] == ([parent] if parent else [])
    own = [base for base in kind.__mro__ if base.__module__ == "builtins"]
    if builtin and parent not in (None, "QuireError"):  # beside what its parent is, it is that too
        assert issubclass(kind, classes().get(builtin) or getattr(builtins, builtin))
    elif builtin:
        assert own[0] is getattr(builtins, builtin)
    elif parent and parent != "QuireError":
        assert own[0] is getattr(builtins, drawn()[parent][1] or "")
    assert issubclass(kind, QuireError)


@pytest.mark.parametrize("name", drawn())
def test_every_class_says_what_it_is_for(name: str) -> None:
    assert (classes()[name].__doc__ or "").endswith(".") or "`" in (classes()[name].__doc__ or "")


@pytest.mark.parametrize("kind", [UnknownId, UnknownKey])
def test_a_missing_key_reads_as_a_sentence(kind: type[QuireError]) -> None:
    assert str(kind("no item with this id: m1")) == "no item with this id: m1"
    assert str(kind()) == ""
    with pytest.raises(KeyError):
        raise kind("x")


def test_errors_carry_strings_that_say_where() -> None:
    assert Irreducible("too large", ("m1", "m2")).parts == ("m1", "m2")
    assert Irreducible("too large").parts == ()
    for kind in (CodecError, Unencodable, Damaged):
        assert kind("broken", "$[3].content").path == "$[3].content"
        assert str(kind("broken", "$[3].content")) == "broken (at $[3].content)"
        assert kind("broken").path == "$"


def test_a_missing_extra_says_how_to_get_it() -> None:
    fault = MissingExtra("The counter", "tokens")
    assert fault.extra == "tokens"
    assert str(fault) == "The counter is not installed; add it with: pip install 'quire[tokens]'"


@pytest.mark.parametrize(
    "fault",
    [
        UnknownId("no such item"),
        Irreducible("too large", ("m1",)),
        Damaged("broken", "$[3]"),
        Unencodable("a set", "$.content"),
        MissingExtra("The counter", "tokens"),
    ],
    ids=lambda fault: type(fault).__name__,
)
def test_errors_travel_between_processes(fault: QuireError) -> None:
    other = pickle.loads(pickle.dumps(fault))
    assert type(other) is type(fault)
    assert str(other) == str(fault)
    assert vars(other) == vars(fault)
