"""Hints in errors about unknown attributes and options: which name to use instead of the guessed one.

`guesses.toml` has the guessed names and the hints.
"""

from collections.abc import Callable, Iterable
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar

from quire.errors import WrongType, cut

P = ParamSpec("P")
T = TypeVar("T")


def no_option(what: str, name: str, own: Iterable[str], shared: Iterable[str] = ()) -> str:
    """The error for an unknown option: a hint, the function's `own` options, and those all sections share."""
    own, shared = list(own), list(shared)
    hint = _hint("options", what.removesuffix("(...)"), name, [*own, *shared])
    rest = f", and those of every section: {', '.join(shared)}" if shared else ""
    return f"{what} has no option {cut(name)!r}{hint}; its options are {', '.join(own)}{rest}"


def option_names(function: Any) -> list[str]:
    """The names of the parameters of a function or method, except `self`."""
    code = getattr(function, "__wrapped__", function).__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return [name for name in names if name != "self"]


def hint_options(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a constructor or a function: the error for a wrong option says which options it has."""
    qualname = function.__qualname__
    called = function.__qualname__ = qualname.removesuffix(".__init__")  # Python's errors show it
    what = called if called == qualname else f"{called}(...)"

    @wraps(function)
    def call(*args: P.args, **named: P.kwargs) -> T:
        try:
            return function(*args, **named)
        except TypeError as fault:
            if fault.__traceback__ is None or fault.__traceback__.tb_next is not None:
                raise  # something in the function failed
            own = option_names(function)
            wrong = next((name for name in named if name not in own and _is_wrong(fault, called, name)), "")
            options = f"{fault}; its options are {', '.join(own)}"
            raise WrongType(no_option(what, wrong, own) if wrong else options) from None

    return call


def _is_wrong(fault: TypeError, called: str, name: str) -> bool:
    """Whether the error names this option, or the option is a known guess that `**options` let through."""
    return f"unexpected keyword argument {name!r}" in str(fault) or bool(_hint("options", called, name, ()))


def hint_attributes(kind: type[T]) -> type[T]:
    """Decorate a class: the error for an unknown attribute says which one is probably meant."""
    setattr(kind, "__getattr__", _refuse)  # noqa: B010  # type checkers still find a wrong name
    return kind


def _refuse(value: object, name: str) -> Any:
    kind = type(value)
    if name.startswith("_") or any(name in vars(each) for each in kind.__mro__):
        return object.__getattribute__(value, name)  # raises again what a property has raised
    raise _no_attribute(kind, f"{kind.__name__!r} object", name, dir(value))


class HintedType(type):
    """A metaclass: the error for an unknown attribute of the class, such as `Session.load`, has a hint."""

    if not TYPE_CHECKING:  # type checkers still find a wrong name

        def __getattr__(cls, name: str) -> Any:
            known = () if name.startswith("_") else dir(cls)
            raise _no_attribute(cls, f"type object {cls.__name__!r}", name, known)


def _no_attribute(kind: type, what: str, name: str, known: Iterable[str]) -> AttributeError:
    public = [attribute for attribute in known if not attribute.startswith("_")]
    hints = (_hint("attributes", each.__name__, name, public) for each in kind.__mro__) if public else ()
    # With a name alone, Python adds no guess of its own.
    return AttributeError(f"{what} has no attribute {name!r}{next(filter(None, hints), '')}", name=name)


def _hint(table: Literal["attributes", "options"], kind: str, name: str, known: Iterable[str]) -> str:
    """The end of an error: which name to use instead. Empty if no known name is similar."""
    from difflib import get_close_matches  # imported here, because only errors need it

    hint = _guesses()[table].get(kind, {}).get(name)
    if hint is not None:
        return f": use {hint}" if hint.startswith("`") else f": {hint}"
    close = get_close_matches(name, list(known), 1)
    return f" (did you mean {close[0]!r}?)" if close else ""


@cache
def _guesses() -> dict[str, dict[str, dict[str, str]]]:
    import tomllib
    from importlib.resources import files

    tables = tomllib.loads(files("quire").joinpath("guesses.toml").read_text("utf-8"))
    return {
        table: {
            kind: {name: hint for names, hint in guesses.items() for name in names.split()}
            for kind, guesses in kinds.items()
        }
        for table, kinds in tables.items()
    }
