"""Records that a program was given, and kept without a look at a field: of that it knows no more."""

import ast
from collections.abc import Collection, Iterable, Iterator
from enum import IntEnum

from quire.programs.sandbox.field_places import Places
from quire.programs.sandbox.field_tests import Tests
from quire.programs.sandbox.fields import Comprehension, Read, binds, read_by, root_of
from quire.programs.sandbox.filled_fields import Filled
from quire.programs.sandbox.functions import called_as
from quire.programs.sandbox.handed_in import Handed
from quire.programs.sandbox.held_names import Names
from quire.programs.sandbox.loose_flow import Flow, Value
from quire.programs.sandbox.naming import declared_in
from quire.programs.sandbox.never_none import NeverNone
from quire.programs.sandbox.parsing import module_of
from quire.programs.sandbox.picked_parts import Picked
from quire.programs.sandbox.written_parts import parts_of, place_of, values_of

_DEEPEST = 50
"""A program may hand things on from name to name for longer than anybody has time to follow."""

_BY_KEY = (".get", ".pop", ".setdefault")
"""What finds by a key, and gives what is given with it where nothing is found."""

_MOST_AGAIN = 50
"""So often what was found is looked for again, where names are given to one another."""

_Asked = tuple[ast.expr | str, str]
"""A value or a name, and the key of the field that is asked for."""


class _Are(IntEnum):
    """What records are: none that are known of, given, or chosen by a look at a field."""

    NONE = 0
    GIVEN = 1
    CHOSEN = 2


class Given:
    """Knows of records whether they are as they were given. They are, unless the program chose them.

    It has to have chosen by the very field that is asked for. `never_none` are keys under which each record
    has something.
    """

    def __init__(self, tree: ast.Module, tests: Tests, stubs: str, never_none: Collection[str]) -> None:
        self._flow, self._tests, self._host = Flow(tree), tests, declared_in(stubs)
        self._places = Places(tree, tests)
        self._handed = Handed(tree, self._places)
        self._never_none = NeverNone(
            module_of(stubs), never_none, tests, self._places, self._flow, self._handed
        )
        self._filled = Filled(tree, self._places, self._never_none)
        self._picked = Picked(tree, self._flow, self._handed)
        self._names = Names(tree, self._flow, self._handed, self._places)
        self._found: dict[_Asked, _Are] = {}
        self._open, self._met = set[_Asked](), set[_Asked]()
        self._again = _MOST_AGAIN

    def has(self, read: Read) -> bool:
        """Whether a field is read of a record that was given, and kept without a look at that field."""
        name = read.field.name
        is_tested = bool(name) and read.key in self._places.known_at(read.whole, name)
        if is_tested or self._is_looked_up(read):
            return False
        return self._are(read.whole, read.key) is not _Are.CHOSEN

    def _is_looked_up(self, read: Read) -> bool:
        """Whether a record is looked up by one of those that were chosen for what this field of it is."""
        match read.whole:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Name() as index):
                several = [one.id for one in self._sources(index) if isinstance(one, ast.Name)]
                values = (value for one in several for value in self._flow.given.get(one, ()))
                return any(read.key in self._keys_chosen(value, name) for value in values)
            case _:
                return False

    def _keys_chosen(self, value: Value, name: str) -> set[str]:
        """The keys that were looked at, of what is in something that has a name."""
        if not isinstance(value, Comprehension):
            return set()
        known = self._tests.known_of_all(test for one in value.generators for test in one.ifs)
        others = {other for one in value.generators for other in values_of(one, name)}
        return {key for of, key in known if of in others or of.partition("[")[0] == name}

    def _are(self, value: Value, key: str) -> _Are:
        if value is None:
            return _Are.NONE
        return self._once(value, key)

    def _once(self, value: ast.expr | str, key: str) -> _Are:
        """What a value is, or all that a name ever holds."""
        asked = (value, key)
        if asked in self._open:
            self._met.add(asked)  # what is made of itself is what else it is made of
        elif asked not in self._found:
            if len(self._open) >= _DEEPEST:
                return _Are.GIVEN
            self._open.add(asked)
            self._found[asked] = _Are.NONE
            before = len(self._found)
            found = self._held_by(value, key) if isinstance(value, str) else self._looked_up(value, key)
            self._open.remove(asked)
            if asked in self._met and found and self._again:
                self._again -= 1
                while len(self._found) > before:  # they were found before this was
                    self._found.popitem()
            self._found[asked] = found
        return self._found[asked]

    def _looked_up(self, value: ast.expr, key: str) -> _Are:
        match value:
            case ast.Name():
                return self._named(value, key)
            case ast.Call():
                return self._result(value, key)
            case ast.Attribute(value=inner, attr=name):
                return self._all(self._handed.attributes.get(name) or [inner], key)
            case ast.Subscript() if key in self._places.known_at(value, root_of(value)):
                return _Are.CHOSEN
            case ast.Subscript(value=whole, slice=ast.Constant(value=str() | int() as place)):
                return self._all(self._picked.at(whole, place) or [whole], key)
            case ast.Dict(keys=keys, values=values) if (at := place_of(key, keys)) is not None:
                return self._made_with(values[at])
            case _:
                return self._all(parts_of(value), key)

    def _made_with(self, value: ast.expr) -> _Are:
        """What a record is that a program made itself, with a value under the key."""
        if self._never_none.has(value):
            return _Are.CHOSEN
        read = read_by(value)
        return _Are.GIVEN if read is None or self.has(read) else _Are.CHOSEN

    def _all(self, values: Iterable[Value], key: str) -> _Are:
        return _lowest(self._are(one, key) for one in values)

    def _result(self, call: ast.Call, key: str) -> _Are:
        """What a call gives: what the host or a function gives, or what is among its arguments."""
        name = called_as(call)
        if name in self._host.functions:
            return _Are.GIVEN
        if name in self._handed.functions:
            return self._all(self._handed.returned_by(name), key)
        if name == "filter" and call.args:
            is_chosen = key in self._tests.kept_by(call.args[0])
            return _Are.CHOSEN if is_chosen else self._all(call.args[1:], key)
        taken = [call.func.value] if isinstance(call.func, ast.Attribute) else []
        others = call.args[1:] if taken and name in _BY_KEY else call.args
        return self._all([*taken, *others, *(one.value for one in call.keywords)], key)

    def _named(self, node: ast.Name, key: str) -> _Are:
        """What a name stands for where it is used."""
        if key in self._places.known_at(node, node.id) or self._filled.has(node, key):
            return _Are.CHOSEN
        binder = self._places.binder_of(node)
        held, is_open = self._names.at(node, binder)
        if is_open and binder is None:
            return self._once(node.id, key)
        return self._all([*held, *(self._sources(node) if is_open else ())], key)

    def _sources(self, node: ast.Name) -> Iterator[ast.expr]:
        """What a name is given its values of, or among, by a loop or a function around it."""
        binder = self._places.binder_of(node)
        match binder:
            case None:
                pass
            case ast.For(iter=several):
                yield from self._picked.each_in(several, binder.target, node.id)
            case ast.Lambda() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from self._handed.given_to(binder, node.id)
            case _:
                loops = (one for one in binder.generators if binds(one.target, node.id))
                for one in loops:
                    yield from self._picked.each_in(one.iter, one.target, node.id)

    def _held_by(self, name: str, key: str) -> _Are:
        """What a name ever holds."""
        if name in self._host.variables:
            return _Are.GIVEN
        return self._all(self._names.ever(name), key)


def _lowest(several: Iterable[_Are]) -> _Are:
    """What can be said of several at once; those that are none say nothing."""
    return min(filter(None, several), default=_Are.NONE)
