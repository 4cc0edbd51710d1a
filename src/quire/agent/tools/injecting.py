"""Parameters that are filled in for the model, which never hears of them: session, pool and allowance."""

from collections.abc import Mapping
from inspect import Parameter
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

from quire.agent.tools.capping import Allowance
from quire.errors import InvalidValue
from quire.session import Session
from quire.state import Pool

_INJECTED = {Session: "a session", Pool: "a pool", Allowance: "an allowance"}


class Injected(NamedTuple):
    """A parameter that is filled in: by what type, and whether the function can do without."""

    kind: type
    takes_none: bool
    has_default: bool


def injected_by(hint: Any, parameter: Parameter) -> Injected | None:
    """What fills a parameter in; none where the model does."""
    if get_origin(hint) is Annotated:
        return injected_by(get_args(hint)[0], parameter)
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    others = [member for member in members if member is not NoneType]
    if len(others) != 1 or others[0] not in _INJECTED:
        return None
    return Injected(others[0], len(others) < len(members), parameter.default is not Parameter.empty)


def values_for(
    injected: Mapping[str, Injected],
    session: Session | None,
    pool: Pool | None,
    allowance: Allowance | None = None,
) -> dict[str, Any]:
    """What the parameters are filled in with. The pool is a copy: a tool reads it, and gives notes back."""
    given: dict[str, Any] = {}
    for name, wanted in injected.items():
        value = _value_of(wanted.kind, session, pool, allowance)
        if value is None and not wanted.takes_none and not wanted.has_default:
            needed = _INJECTED[wanted.kind]
            raise InvalidValue(f"the tool's parameter {name!r} needs {needed}, and none is given")
        if value is not None or not wanted.has_default:
            given[name] = value
    return given


def _value_of(
    kind: type, session: Session | None, pool: Pool | None, allowance: Allowance | None
) -> Session | Pool | Allowance | None:
    if kind is Session:
        return session
    return allowance if kind is Allowance else _copy_of(pool, session)


def _copy_of(pool: Pool | None, session: Session | None) -> Pool | None:
    if pool is not None:
        return pool.fork()
    return None if session is None else session.pool.copy()
