"""Records that tools take: their fields, and the defaults that no schema says.

A default that is made anew for each record may be an id or a time. What a function gives twice alike is taken
for a default. One that once gave something else is never called again.
"""

import dataclasses
import datetime
from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple, cast
from uuid import UUID
from weakref import WeakKeyDictionary

import msgspec

from quire.agent.tools.shapes import MISSING
from quire.agent.tools.shapes.owners import owner_of
from quire.programs.values import as_text, plain

Factory = Callable[[], Any]

_DRAWN = (datetime.date, datetime.time, UUID)
"""What is another the next day, or for the next record, though it may be the same twice."""


class Held(NamedTuple):
    """A field of a record: its type, and what makes its default where no schema says it."""

    kind: Any
    is_required: bool
    made: "Made | None" = None


class Made:
    """A default that is made for each record."""

    def __init__(self, factory: Factory) -> None:
        self._factory = factory
        self._is_steady = True

    def value(self) -> Any:
        """The default in the kinds that JSON has; `MISSING` where it is not the same each time."""
        if not self._is_steady:
            return MISSING
        try:
            one, other = self._factory(), self._factory()
            self._is_steady = not _is_drawn(one) and as_text(one) == as_text(other) and bool(one == other)
            return plain(one) if self._is_steady else MISSING
        except Exception:  # it is code of somebody's own
            self._is_steady = False
            return MISSING


_known: "WeakKeyDictionary[type, Mapping[str, Held] | None]" = WeakKeyDictionary()


def held_by(kind: type) -> Mapping[str, Held] | None:
    """The fields of a record by their names in JSON; none of what is no record, or reads in its own way."""
    if kind not in _known:
        try:
            _known[kind] = _of_model(kind) if hasattr(kind, "model_fields") else _of_others(kind)
        except Exception:  # its hints may name what is nowhere
            _known[kind] = None
    return _known[kind]


def _of_model(kind: Any) -> Mapping[str, Held] | None:
    """The fields of a model of pydantic."""
    decorators = kind.__pydantic_decorators__
    validators = (*decorators.field_validators.values(), *decorators.model_validators.values())
    if any(one.info.mode != "after" for one in validators):
        return None
    held: dict[str, Held] = {}
    for name, field in kind.model_fields.items():
        key = field.validation_alias or field.alias or name
        if not isinstance(key, str):
            return None
        told = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
        held[key] = Held(told, field.is_required(), _made_by(field))
    return held


def _made_by(field: Any) -> Made | None:
    if field.is_required() or (field.default_factory and field.default_factory_takes_validated_data):
        return None
    return Made(field.default_factory or (lambda: field.default))


def _of_others(kind: Any) -> Mapping[str, Held] | None:
    owner = owner_of(kind, {})
    if owner is None:
        return None
    made = {name: Made(factory) for name, factory in _factories(kind).items()}
    return {one.key: Held(one.kind, one.is_required, made.get(one.name)) for one in owner.members}


def _factories(kind: Any) -> Mapping[str, Factory]:
    """What makes the defaults of a class with fields, by name."""
    if msgspec.Struct in kind.__mro__:
        rows = [(one.name, one.default, one.default_factory) for one in msgspec.structs.fields(kind)]
        found = {name: _factory(default, made, msgspec.NODEFAULT) for name, default, made in rows}
    elif dataclasses.is_dataclass(kind):
        rows = [(one.name, one.default, one.default_factory) for one in dataclasses.fields(kind)]
        found = {name: _factory(default, made, dataclasses.MISSING) for name, default, made in rows}
    else:
        attributes = cast("tuple[Any, ...]", getattr(kind, "__attrs_attrs__", ()))
        found = {
            str(one.alias or one.name): cast("Factory", one.default.factory)
            for one in attributes
            if hasattr(one.default, "factory") and not one.default.takes_self
        }
    return {name: factory for name, factory in found.items() if factory is not None}


def _factory(default: Any, factory: Any, missing: object) -> Factory | None:
    if factory is not missing:
        return cast("Factory", factory)
    return None if default is missing else lambda: default


def _is_drawn(value: Any) -> bool:
    """Whether this is, or holds as a default of its own, what is drawn for each, or does not tell itself."""
    if isinstance(value, _DRAWN) or hasattr(value, "get_secret_value"):
        return True
    held = held_by(type(value)) or {}  # pyright: ignore[reportUnknownArgumentType]
    return any(one.made is not None and one.made.value() is MISSING for one in held.values())
