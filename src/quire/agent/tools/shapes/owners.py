"""Classes with fields, whichever library made them: what they hold, and how one is made."""

import dataclasses
import inspect
import sys
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Annotated, Any, NamedTuple, get_args, get_origin, is_typeddict

import msgspec

from quire.agent.tools.docstrings import Told, told_by
from quire.agent.tools.shapes.hints import hints_of
from quire.agent.tools.shapes.records import MISSING, Field
from quire.agent.tools.shapes.shape import Shape
from quire.errors import WrongType


class Member(NamedTuple):
    """One field of a class, before the shape of its type is known."""

    key: str
    name: str
    kind: Any
    is_required: bool
    default: Any
    description: str

    def field(self, shape: Shape) -> Field:
        """The field, with the shape of its type."""
        return Field(self.key, self.name, shape, self.is_required, self.default, self.description)


class Owner(NamedTuple):
    """A class with fields."""

    name: str
    description: str
    members: list[Member]
    build: Callable[..., Any]
    made: type | None
    tag: tuple[str, Any] | None = None


def owner_of(kind: Any, names: Mapping[str, Any]) -> Owner | None:
    """What a class holds; none where it is no class with fields. Its hints may use `names`."""
    if is_dictionary(kind):
        return _of_dictionary(kind, names)
    if msgspec.Struct in kind.__mro__:
        return _of_struct(kind, names)
    is_named_tuple = tuple in kind.__mro__ and hasattr(kind, "_fields")
    if dataclasses.is_dataclass(kind) or is_named_tuple or hasattr(kind, "__attrs_attrs__"):
        return _of_constructor(kind, names)
    return None


def is_dictionary(kind: Any) -> bool:
    """Whether this is a typed dictionary: of Python, or of the package with newer ones for older Pythons."""
    # Where that was not imported nobody has made one by it.
    extensions = sys.modules.get("typing_extensions")
    return is_typeddict(kind) or (extensions is not None and bool(extensions.is_typeddict(kind)))


def json_default(value: Any) -> Any:
    """A default as it stands in a schema; `MISSING` where JSON cannot say it."""
    try:
        written = msgspec.json.encode(value, order="deterministic")  # also of sets, which have none
    except (TypeError, ValueError, RecursionError):
        return MISSING
    # What is no number is written as null.
    return MISSING if isinstance(value, float) and not isfinite(value) else msgspec.json.decode(written)


def _of_dictionary(kind: type[Any], names: Mapping[str, Any]) -> Owner:
    told = _told(kind)
    hints = hints_of(kind, _names(kind, names))
    required: frozenset[str] = getattr(kind, "__required_keys__")  # noqa: B009
    members = [
        Member(key, key, hint, _is_required(hint, key in required), MISSING, told.parameters.get(key, ""))
        for key, hint in hints.items()
    ]
    return Owner(kind.__name__, told.description, members, dict, None)


def _is_required(hint: Any, otherwise: bool) -> bool:
    # Where annotations are texts, the class does not know yet what its hints say.
    marks = {"Required": True, "NotRequired": False}
    origin = get_origin(hint)
    name = getattr(origin, "_name", "")
    if origin is Annotated or name == "ReadOnly":
        return _is_required(get_args(hint)[0], otherwise)
    return marks.get(name, otherwise)


def _of_struct(kind: type[msgspec.Struct], names: Mapping[str, Any]) -> Owner:
    told = _told(kind)
    hints = hints_of(kind, _names(kind, names))
    config = kind.__struct_config__
    tag = None if config.tag is None or config.tag_field is None else (config.tag_field, config.tag)
    members: list[Member] = []
    for name, key in zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True):
        default, is_required = _default_of(kind, name)
        members.append(Member(key, name, hints[name], is_required, default, told.parameters.get(name, "")))
    return Owner(kind.__name__, told.description, members, kind, kind, tag)


def _default_of(kind: type[msgspec.Struct], name: str) -> tuple[Any, bool]:
    parameter = inspect.signature(kind).parameters[name]
    if parameter.default is inspect.Parameter.empty:
        return MISSING, True
    # A default that is made anew for each is not told: it may be a time, or an id.
    is_made = parameter.default is msgspec.NODEFAULT or type(parameter.default).__module__.startswith(
        "msgspec"
    )
    return (MISSING if is_made else json_default(parameter.default)), False


def _of_constructor(kind: Any, names: Mapping[str, Any]) -> Owner:
    told = _told(kind)
    hints = hints_of(kind, _names(kind, names))
    members: list[Member] = []
    for name, parameter in inspect.signature(kind).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise WrongType(f"there is no JSON schema for {kind.__name__}: it takes any arguments")
        is_required = parameter.default is parameter.empty
        is_made = is_required or type(parameter.default).__module__ == "dataclasses"
        default = MISSING if is_made else json_default(parameter.default)
        hint = hints.get(name, hints.get(f"_{name}", Any))
        members.append(Member(name, name, hint, is_required, default, told.parameters.get(name, "")))
    return Owner(kind.__name__, told.description, members, kind, kind)


def _names(kind: type[Any], names: Mapping[str, Any]) -> dict[str, Any]:
    return {**names, kind.__name__: kind}


def _told(kind: type[Any]) -> Told:
    """What a class says of itself; dataclasses and named tuples that say nothing are given a signature."""
    words = kind.__dict__.get("__doc__")
    if not isinstance(words, str) or words.startswith((f"{kind.__name__}(", "dict(")):
        words = None
    return told_by(words)
