"""The types of what a tool takes, as far as they say more of a value than its schema does."""

import collections
import collections.abc
from collections.abc import Mapping
from contextlib import suppress
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, NewType, Union, cast, get_args, get_origin

from quire.agent import Tool
from quire.agent.tools import Json, hints_of, written_function
from quire.agent.tools.shapes.annotations import is_validator
from quire.programs.unsaid import Held, held_by

_ABC = collections.abc
_ROWS = (list, set, frozenset, collections.deque, _ABC.Sequence, _ABC.Iterable, _ABC.Collection, _ABC.Set)
_TABLES = (dict, collections.OrderedDict, _ABC.Mapping, _ABC.MutableMapping)
_MARKS = ("Required", "NotRequired", "ReadOnly", "Final")
_DEEPEST = 20
"""Names around a type, before the type itself."""


class Parameters(NamedTuple):
    """What a function takes, by name."""

    held: Mapping[str, Held]


class Kind(NamedTuple):
    """A type, or nothing where none is known."""

    type: Any = None

    def of(self, value: Any) -> "Kind":
        """What a value is, where this is one of several: only where it can be nothing else."""
        kind = _bare(self.type)
        if get_origin(kind) not in (Union, UnionType):
            return Kind(kind)
        several = [_bare(one) for one in get_args(kind) if one is not NoneType]
        if len(several) == 1:
            return Kind(several[0])
        if not isinstance(value, dict | list):  # which a text or a number is, only its reader knows
            return Kind()
        fitting = [one for one in several if _may_be(cast("Json | list[Any]", value), one)]
        return Kind(fitting[0]) if len(fitting) == 1 else Kind()

    @property
    def fields(self) -> Mapping[str, Held]:
        """The fields of a record by their names in JSON; none of what is no record, or not known."""
        if isinstance(self.type, Parameters):
            return self.type.held
        return held_by(self.type) or {} if isinstance(self.type, type) else {}

    def row(self, index: int) -> "Kind":
        """What stands at a place of a list."""
        origin, inner = get_origin(self.type), get_args(self.type)
        if origin is tuple and inner[1:] != (...,):
            return Kind(inner[index]) if index < len(inner) else Kind()
        return Kind(inner[0]) if inner and origin in (*_ROWS, tuple) else Kind()

    def entry(self, name: str) -> "Kind":
        """What stands under a name of an object."""
        if name in self.fields:
            return Kind(self.fields[name].kind)
        inner = get_args(self.type)
        return Kind(inner[1]) if len(inner) == 2 and get_origin(self.type) in _TABLES else Kind()


UNKNOWN = Kind()


def taken_by(tool: Tool) -> Kind:
    """The parameters of a tool as the fields of a record; none where somebody else wrote its schema."""
    with suppress(Exception):  # what makes it may not take the types of a function
        given = getattr(tool, "input_schema", None)  # a bridge's may read its arguments into one value
        if isinstance(given, type):
            return Kind(given)
    with suppress(Exception):  # names in quotes may be unknown here
        hints = hints_of(written_function(tool.function), {})
        return Kind(Parameters({one.name: Held(hints.get(one.name), False) for one in tool.signature.order}))
    return UNKNOWN


def _bare(kind: Any) -> Any:
    """A type without what is said of it; nothing where that is code which reads in its own way."""
    for _ in range(_DEEPEST):
        if get_origin(kind) is Annotated:
            kind, *notes = get_args(kind)
            if any(map(is_validator, notes)):
                return None
        elif isinstance(kind, NewType):
            kind = kind.__supertype__
        elif type(kind).__name__ == "TypeAliasType":
            kind = kind.__value__
        elif getattr(get_origin(kind), "_name", "") in _MARKS:
            kind = get_args(kind)[0]
        else:
            return kind
    return None


def _may_be(value: Json | list[Any], kind: Any) -> bool:
    """Whether an object or a list could be read as a type. Of what is not known here, it could."""
    origin = get_origin(kind)
    if kind in (str, int, float, bool) or origin is Literal:
        return False
    if isinstance(value, list):
        is_record = isinstance(kind, type) and held_by(kind) is not None and not issubclass(kind, tuple)
        return origin not in _TABLES and not is_record
    held = held_by(kind) if isinstance(kind, type) else None
    return origin not in (*_ROWS, tuple) if held is None else _fits(value, held)


def _fits(value: Mapping[str, Any], held: Mapping[str, Held]) -> bool:
    has_all = all(name in value for name, one in held.items() if one.is_required)
    return has_all and all(name in held and _says(held[name].kind, one) for name, one in value.items())


def _says(kind: Any, value: Any) -> bool:
    """Whether a value is one of those that a type lists, where it lists any."""
    kind = _bare(kind)
    if get_origin(kind) is not Literal:
        return True
    is_truth = isinstance(value, bool)  # which is equal to 1 or 0
    return any(isinstance(one, bool) is is_truth and one == value for one in get_args(kind))
