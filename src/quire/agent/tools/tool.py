"""A function that a model may call."""

import copy
import functools
import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import blake2b
from types import FunctionType, MethodType
from typing import Any, Literal, overload

import msgspec

from quire.agent.tools.arguments import read_json
from quire.agent.tools.docstrings import told_by
from quire.agent.tools.options import Approve, Options
from quire.agent.tools.shapes import Misfit
from quire.agent.tools.signature import Signature, read_signature, underneath, written_function
from quire.agent.tools.turnstile import Turnstile
from quire.errors import InvalidValue, WrongType, cut
from quire.items import freeze
from quire.tokens import Definition, named

_BOUND = (FunctionType, classmethod, staticmethod)
"""What an object fills its own place in of."""

Kind = Literal["plain", "async", "generator"]


class Tool:
    """A function that a model may call, with what the model is told of it. Called, it is the function itself.

    `names` are those that annotations in quotes may use beside those of the function's module.
    """

    def __init__(
        self, function: Callable[..., Any], options: Options, names: Mapping[str, Any] | None = None
    ) -> None:
        functools.update_wrapper(self, function)
        self.function: Any = function
        self.name = named(options.name or _name_of(function), "the name of a tool")
        self.__name__ = getattr(function, "__name__", self.name)
        self.__doc__ = _words_of(function)
        self._options = options
        self._told = told_by(self.__doc__)
        self.turnstile = Turnstile() if options.lock else None
        self.kind: Kind = _kind_of(function)
        # What can have no schema is said now; a name in quotes may be defined later, and is looked up then.
        with suppress(NameError):
            self.__dict__["signature"] = self._read(names or {})

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function as it is: nothing is checked, filled in, locked or cut."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Tool {self.name!r}>"

    @overload
    def __get__(self, instance: None, owner: type) -> "Tool": ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> "Tool": ...
    def __get__(self, instance: object, owner: type | None = None) -> "Tool":
        """The tool of an object: a method that is a tool, with its object filled in."""
        if type(self.function) not in _BOUND:
            return self
        bound: Any = self.function.__get__(instance, owner)
        if bound is self.function:
            return self
        tool = copy.copy(self)
        functools.update_wrapper(tool, bound)
        tool.function = bound
        if type(self.function) is not staticmethod:
            tool.__dict__["signature"] = self.signature.without_first()
        tool.__dict__.pop("definition", None)
        return tool

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.function)

    @functools.cached_property
    def signature(self) -> Signature:
        """What the function takes, by who gives it."""
        try:
            return self._read({})
        except NameError as fault:
            raise WrongType(f"the tool {cut(self.name)!r}: {fault}") from None

    def _read(self, names: Mapping[str, Any]) -> Signature:
        try:
            return read_signature(self.function, self._told, self._options.fixed, names)
        except (WrongType, InvalidValue) as fault:
            raise type(fault)(f"the tool {cut(self.name)!r}: {fault}") from None

    @functools.cached_property
    def definition(self) -> Definition:
        """The tool as models are told of it: a name, a description and a JSON schema."""
        schema = self.signature.schema()
        told: Definition = freeze({"name": self.name, "description": self.description, "parameters": schema})
        return told

    @property
    def description(self) -> str:
        """What the tool does, in words for a model."""
        given = self._options.description
        return self._told.description if given is None else given

    @property
    def timeout(self) -> float | None:
        """Seconds that a call may take; `None` means any."""
        return self._options.timeout

    @property
    def is_idempotent(self) -> bool:
        """Whether a call that may have run can be run again."""
        return self._options.idempotent

    @property
    def asks_person(self) -> bool:
        """Whether a person answers its calls, and the function is not run."""
        return self._options.asks_person

    @property
    def approve(self) -> Approve:
        """Whether a person approves of each call, or what says of which."""
        return self._options.approve

    @property
    def max_output(self) -> int:
        """Characters of its output that a model is given; longer output goes to the pool."""
        return self._options.max_output

    @property
    def version(self) -> str:
        """A digest of what models are told of it: the same as long as that is the same."""
        order = order_of(self.definition["parameters"])
        told = msgspec.json.encode((self.definition, order) if order else self.definition, order="sorted")
        return blake2b(told, digest_size=8).hexdigest()

    def needs_approval(self, arguments: str | Mapping[str, Any]) -> bool:
        """Whether a person has to approve of a call. One that is wrong needs none: it is not run either."""
        if not callable(self.approve):
            return self.approve
        try:
            read = self.signature.read(read_json(arguments))
        except Misfit:
            return False
        try:
            return bool(self.approve(read))
        except Exception:  # who cannot say that a call is harmless has not said so
            return True


def order_of(schema: Mapping[str, Any]) -> list[str]:
    """The names of parameters in order: by it they have their places. None where that is the alphabet's.

    A digest is made of a sorted schema, which does not have it.
    """
    names = [*schema.get("properties", {})]
    return [] if names == sorted(names) else names


def _words_of(function: Callable[..., Any]) -> str | None:
    """The docstring of what somebody wrote; one of its own only a function or a method has."""
    written = written_function(function)
    own = function.__doc__ if isinstance(function, FunctionType | MethodType) else None
    described = type(function).__doc__ if type(function).__module__ != "functools" else None
    return own or written.__doc__ or (described if written is type(function).__call__ else None)


def _name_of(function: Callable[..., Any]) -> str:
    named_by = function if hasattr(function, "__name__") else getattr(function, "func", type(function))
    name = str(getattr(named_by, "__name__", type(named_by).__name__))
    if name == "<lambda>":
        raise InvalidValue("a function without a name is a tool only under a name: tool(name=...)")
    return name


def _kind_of(function: Callable[..., Any]) -> Kind:
    inner: Any = underneath(function)
    for one in (inner, getattr(inner.__class__, "__call__", None)):  # noqa: B004  # an object may be called too
        if inspect.isasyncgenfunction(one):
            return "generator"
        if inspect.iscoroutinefunction(one):
            return "async"
    return "plain"
