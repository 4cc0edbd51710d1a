"""The parameters of a function: which of them a model fills in, and which are filled in for it."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from types import MethodType
from typing import Any, NamedTuple, get_args, get_origin

from quire.agent.tools.docstrings import Told
from quire.agent.tools.injecting import Injected, injected_by
from quire.agent.tools.shapes import (
    Definitions,
    Field,
    Json,
    Misfit,
    Shape,
    Shaper,
    hints_of,
    is_dictionary,
    json_default,
    object_schema,
    owner_of,
    read_fields,
)
from quire.errors import InvalidValue, WrongType, cut

Parameter = inspect.Parameter
_MARKED = (MethodType, classmethod, staticmethod)
_BY_PLACE = (Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL)


class Bound(NamedTuple):
    """Arguments as a function is called with them."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Signature(NamedTuple):
    """What a function takes, by who gives it."""

    order: tuple[Parameter, ...]
    fields: dict[str, Field]
    rest: Shape | None
    """Of what type arguments are whose names are not known, where there may be any."""
    injected: dict[str, Injected]
    fixed: Mapping[str, Any]

    def schema(self) -> Json:
        """The schema of what a model fills in."""
        definitions = Definitions()
        written = object_schema(self.fields, definitions)
        if self.rest is not None:
            written["additionalProperties"] = self.rest.schema(definitions) or True
        return definitions.written(written)

    def read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """What a model filled in, as the function wants it, or a `Misfit`."""
        for name in given:
            if name in self.fixed:
                raise Misfit(f"the argument {cut(name)!r} is set already and cannot be given")
        if self.rest is None:
            return read_fields(self.fields, given, True, "argument")
        known = {name: value for name, value in given.items() if name in self.fields}
        hidden = set(self.injected) & set(given)
        if hidden:
            raise Misfit(f"there is no argument {hidden.pop()!r}")
        read = read_fields(self.fields, known, True, "argument")
        for name, value in given.items():
            if name not in self.fields:
                try:
                    read[name] = self.rest.read(value, True)
                except Misfit as fault:
                    raise fault.inside(f".{cut(name)}") from None
        return read

    def bind(self, values: Mapping[str, Any]) -> Bound:
        """Values by name, in their places; those that are left out have defaults."""
        left, args = dict(values), list[Any]()
        for parameter in self.order[: self._by_place(values)]:
            if parameter.kind is Parameter.VAR_POSITIONAL:
                args += left.pop(parameter.name, ())
            else:
                args.append(left.pop(parameter.name, parameter.default))
        return Bound(tuple(args), left)

    def _by_place(self, values: Mapping[str, Any]) -> int:
        """How many parameters are given by place: all up to the last one that has to be."""
        placed = [
            index + 1
            for index, parameter in enumerate(self.order)
            if parameter.kind in _BY_PLACE and values.get(parameter.name, ()) != ()
        ]
        return max(placed, default=0)

    def without_first(self) -> "Signature":
        """The signature of a method once its object is known."""
        first, *order = self.order
        fields = {key: field for key, field in self.fields.items() if key != first.name}
        return self._replace(order=tuple(order), fields=fields)


def read_signature(
    function: Callable[..., Any], told: Told, fixed: Mapping[str, Any], names: Mapping[str, Any]
) -> Signature:
    """The signature of a function; a `WrongType` says what of it can have no schema.

    A name in quotes that is not known yet is a `NameError`.
    """
    hints = _hints(function, names)
    parameters = list(_parameters(function).values())
    fixed = {**_bound_by_partial(function), **fixed}
    reading = _Reading(function, Shaper(names), told, fixed)
    for index, parameter in enumerate(parameters):
        reading.take(parameter, hints.get(parameter.name, Any), is_first=index == 0)
    unknown = [name for name in fixed if name not in {parameter.name for parameter in parameters}]
    if unknown and reading.rest is None:
        raise InvalidValue(f"there is no parameter {cut(unknown[0])!r} to fix")
    return Signature(tuple(parameters), reading.fields, reading.rest, reading.injected, fixed)


class _Reading:
    """Parameters on their way to a signature."""

    def __init__(
        self, function: Callable[..., Any], shaper: Shaper, told: Told, fixed: Mapping[str, Any]
    ) -> None:
        self._shaper = shaper
        self._told = told
        self._fixed = fixed
        self._is_method = _looks_like_a_method(function)
        self.fields: dict[str, Field] = {}
        self.injected: dict[str, Injected] = {}
        self.rest: Shape | None = None

    def take(self, parameter: Parameter, hint: Any, *, is_first: bool) -> None:
        """Find out who gives one parameter, and of what type it is."""
        name = parameter.name
        if name in self._fixed:
            return
        injected = injected_by(hint, parameter)
        if injected is not None:
            self.injected[name] = injected
            return
        if is_first and self._is_method and name in ("self", "cls"):
            hint = Any  # it is given by the object, once the method is asked for through one
        try:
            self._add(parameter, hint)
        except WrongType as fault:
            raise WrongType(f"the parameter {name!r}: {fault}") from None

    def _add(self, parameter: Parameter, hint: Any) -> None:
        name = parameter.name
        described = self._told.parameters.get(name, "")
        if parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD) and hint is Any:
            raise WrongType("it takes any arguments: annotate it, or name what it takes")
        if parameter.kind is Parameter.VAR_KEYWORD:
            self._add_rest(hint)
        elif parameter.kind is Parameter.VAR_POSITIONAL:
            self.fields[name] = Field(
                name, name, self._shaper.shape(list[hint]), False, description=described
            )
        else:
            self._add_plain(parameter, hint, described)

    def _add_plain(self, parameter: Parameter, hint: Any, described: str) -> None:
        name, is_required = parameter.name, parameter.default is Parameter.empty
        if type(parameter.default).__name__ == "FieldInfo":
            raise WrongType("its default is a field of pydantic's: write it inside Annotated[...]")
        shape = self._shaper.shape(hint)
        if is_required:
            self.fields[name] = Field(name, name, shape, True, description=described)
        else:
            self.fields[name] = Field(name, name, shape, False, json_default(parameter.default), described)

    def _add_rest(self, hint: Any) -> None:
        inner = get_args(hint)
        is_unpacked = getattr(get_origin(hint), "_name", "") == "Unpack"
        owner = owner_of(inner[0], {}) if is_unpacked and inner and is_dictionary(inner[0]) else None
        if owner is None:
            self.rest = self._shaper.shape(hint)
            return
        for member in owner.members:
            if member.name not in self._fixed:
                described = self._told.parameters.get(member.name) or member.description
                shape = self._shaper.shape(member.kind)
                self.fields[member.name] = member._replace(description=described).field(shape)


def written_function(function: Any) -> Any:
    """The function that somebody wrote, beneath what was put around it."""
    while True:
        if isinstance(function, partial):
            function = function.func
        elif isinstance(function, _MARKED):
            function = underneath(function)
        elif (wrapped := getattr(function, "__wrapped__", None)) is not None:
            function = wrapped
        elif inspect.isroutine(function) or isinstance(function, type):
            return function
        else:  # an object that can be called
            function = type(function).__call__


def underneath(function: Any) -> Any:
    """The function of a method, or of what is marked as one of a class."""
    return getattr(function, "__func__", function)


def _parameters(function: Any) -> Mapping[str, Parameter]:
    try:
        marked = isinstance(function, classmethod)  # which has no signature of its own
        return inspect.signature(underneath(function) if marked else function).parameters
    except (ValueError, TypeError):
        raise WrongType("the function does not say which parameters it takes") from None


def _hints(function: Callable[..., Any], names: Mapping[str, Any]) -> dict[str, Any]:
    written = written_function(function)
    if isinstance(written, type):
        written = getattr(written, "__init__")  # noqa: B009
    return hints_of(written, names)


def _bound_by_partial(function: Callable[..., Any]) -> dict[str, Any]:
    """What `functools.partial` has set by name: it is no more for a model to say than the rest."""
    return dict(function.keywords) if isinstance(function, partial) else {}


def _looks_like_a_method(function: Callable[..., Any]) -> bool:
    owner = getattr(function, "__qualname__", "").rpartition(".")[0]
    return isinstance(function, classmethod) or (bool(owner) and not owner.endswith("<locals>"))
