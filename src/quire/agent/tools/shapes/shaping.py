"""From a type to its shape."""

import collections
import collections.abc
import typing
from collections.abc import Callable, Hashable, Mapping
from enum import Enum
from pathlib import PurePath
from types import NoneType, UnionType
from typing import Annotated, Any, ForwardRef, Literal, NewType, TypeVar, Union, cast, get_args, get_origin

from quire.agent.tools.shapes.annotations import annotated, is_validator
from quire.agent.tools.shapes.choices import of_literals, of_members
from quire.agent.tools.shapes.containers import Array, Row, Table
from quire.agent.tools.shapes.foreign import adapted_shape, model_shape
from quire.agent.tools.shapes.named import Named
from quire.agent.tools.shapes.owners import Owner, owner_of
from quire.agent.tools.shapes.records import Record
from quire.agent.tools.shapes.scalars import ANYTHING, NOTHING, SCALARS, TEXT, FilePath
from quire.agent.tools.shapes.shape import Shape
from quire.agent.tools.shapes.unions import union_of
from quire.errors import WrongType, cut

_ABC = collections.abc
_ARRAYS: dict[Any, Callable[[list[Any]], Any]] = {
    list: list,
    set: set,
    frozenset: frozenset,
    collections.deque: collections.deque,
    _ABC.Set: frozenset,
    _ABC.MutableSet: set,
    **dict.fromkeys((_ABC.Sequence, _ABC.MutableSequence, _ABC.Collection, _ABC.Iterable), list),
}
_TABLES = (dict, collections.OrderedDict, _ABC.Mapping, _ABC.MutableMapping)
_QUALIFIERS = ("Required", "NotRequired", "ReadOnly", "Final")
_TYPE_VARIABLES = Mapping[Any, Any]
_NO_VARIABLES: _TYPE_VARIABLES = {}


class Shaper:
    """Finds the shapes of types; the same one for the same type, so that a type may hold itself.

    `names` are those that the types may use in quotes, beside those of the module they are written in.
    """

    def __init__(self, names: Mapping[str, Any] | None = None) -> None:
        self._names = dict(names or {})
        self._known: dict[Hashable, Shape] = {}

    def shape(self, kind: Any, variables: _TYPE_VARIABLES = _NO_VARIABLES) -> Shape:
        """The shape of a type, or a `WrongType` that names it."""
        if isinstance(kind, str | ForwardRef):
            raise NameError(f"name {_spelled(kind)!r} is not defined")
        simple = SCALARS.get(kind) if isinstance(kind, Hashable) else None
        if simple is not None:
            return simple
        found = (
            self._of_special(kind, variables)
            or self._of_form(kind, variables)
            or self._of_class(kind, variables)
        )
        if found is None:
            raise WrongType(f"there is no JSON schema for {cut(_spelled(kind))}")
        return found

    def _of_special(self, kind: Any, variables: _TYPE_VARIABLES) -> Shape | None:
        """The shape of what stands for another type."""
        if isinstance(kind, TypeVar):
            return self._of_variable(kind, variables)
        if isinstance(kind, NewType):
            return self.shape(kind.__supertype__, variables)
        if type(kind).__name__ == "InitVar":
            return self.shape(kind.type, variables)
        if type(kind).__name__ == "TypeAliasType" or hasattr(get_origin(kind), "__value__"):
            return self._of_alias(kind, variables)
        return TEXT if kind is typing.LiteralString else None

    def _of_form(self, kind: Any, variables: _TYPE_VARIABLES) -> Shape | None:
        """The shape of a type that is written with brackets."""
        origin, args = get_origin(kind), get_args(kind)
        if origin is Annotated:
            return self._of_annotated(kind, args, variables)
        if origin is Literal:
            return self._of_literal(args)
        if origin in (Union, UnionType):
            return union_of([self.shape(member, variables) for member in args])
        if getattr(origin, "_name", getattr(origin, "__name__", None)) in _QUALIFIERS:
            return self.shape(args[0], variables)
        bare = origin or kind
        if bare is tuple:
            return self._of_tuple(args if origin else (Any, ...), variables)
        if bare in _ARRAYS:
            return Array(self.shape(args[0], variables) if args else ANYTHING, _ARRAYS[bare])
        if bare in _TABLES:
            key, value = args or (str, Any)
            return Table(self.shape(key, variables), self.shape(value, variables))
        return None

    def _of_annotated(self, kind: Any, args: tuple[Any, ...], variables: _TYPE_VARIABLES) -> Shape | None:
        if any(map(is_validator, args[1:])):
            return adapted_shape(kind)
        return annotated(self.shape(args[0], variables), args[1:])

    def _of_literal(self, values: tuple[Any, ...]) -> Shape:
        others = tuple(value for value in values if value is not None)
        shapes: list[Shape] = [of_literals(others)] if others else []
        return union_of([*shapes, NOTHING] if len(others) < len(values) else shapes)

    def _of_tuple(self, args: tuple[Any, ...], variables: _TYPE_VARIABLES) -> Shape:
        if args and args[-1] is Ellipsis:
            return Array(self.shape(args[0], variables), tuple)
        return Row(tuple(self.shape(arg, variables) for arg in args))

    def _of_variable(self, variable: Any, variables: _TYPE_VARIABLES) -> Shape:
        if variable in variables:
            return self.shape(variables[variable], variables)
        if variable.__constraints__:
            return union_of([self.shape(one, variables) for one in variable.__constraints__])
        return self.shape(variable.__bound__ or Any, variables)

    def _of_alias(self, kind: Any, variables: _TYPE_VARIABLES) -> Shape:
        origin = get_origin(kind) or kind
        given = _given(kind, origin, variables)
        key = (origin, *given.values())
        if key not in self._known:
            alias = Named(key, str(origin.__name__))
            self._known[key] = alias
            alias.fill(self.shape(origin.__value__, given))
        return self._known[key]

    def _of_class(self, kind: Any, variables: _TYPE_VARIABLES) -> Shape | None:
        """The shape of a class, and of one that is written with brackets."""
        origin = get_origin(kind) or kind
        if not isinstance(origin, type) or origin in (type, NoneType):
            return None
        made = cast("type[Any]", origin)
        if issubclass(made, Enum):
            return of_members(made) if len(made) else None
        model = model_shape(kind)
        if model is not None:
            return model
        given = _given(kind, made, variables)
        key = (made, *given.values())
        if key not in self._known:
            owner = owner_of(made, self._names)
            if owner is None:
                return self._of_subclass(made) or adapted_shape(kind)
            self._known[key] = self._of_owner(owner, key, given)
        return self._known[key]

    def _of_owner(self, owner: Owner, key: Hashable, variables: _TYPE_VARIABLES) -> Shape:
        record = Record(key, owner.name, owner.description)
        self._known[key] = record
        try:
            fields = [one.field(self.shape(one.kind, variables)) for one in owner.members]
        except WrongType as fault:
            del self._known[key]
            raise WrongType(f"{fault}, in {owner.name}") from None
        record.fill(fields, owner.build, owner.made, owner.tag)
        return record

    def _of_subclass(self, kind: type[Any]) -> Shape | None:
        """A class of paths; others that inherit from a simple type would not come out as what they are."""
        return FilePath(kind) if issubclass(kind, PurePath) else None


def _given(kind: Any, origin: Any, variables: _TYPE_VARIABLES) -> dict[Any, Any]:
    """What the type variables of a class stand for here."""
    wanted: tuple[Any, ...] = getattr(origin, "__parameters__", ()) or getattr(origin, "__type_params__", ())
    args = [variables.get(arg, arg) if isinstance(arg, TypeVar) else arg for arg in get_args(kind)]
    return dict(zip(wanted, args, strict=False))


def _spelled(kind: Any) -> str:
    if isinstance(kind, ForwardRef):
        return kind.__forward_arg__
    if isinstance(kind, str):
        return kind
    return str(getattr(kind, "__qualname__", None) or kind) if isinstance(kind, type) else str(kind)
