"""What an agent fills in for its tools: its pool and its queue, as copies, because tools only read."""

import inspect
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from quire.bridges.pygents.context_pool import ContextPool
from quire.bridges.pygents.context_queue import ContextQueue
from quire.bridges.pygents.tool import Tool

Container = ContextPool | ContextQueue


def filled(
    tool: Tool, args: tuple[Any, ...], kwargs: dict[str, Any], containers: tuple[Container, ...]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call with copies of the containers where they are asked for or handed in."""
    args = tuple(_copied(value, containers) for value in args)
    kwargs = {name: _copied(value, containers) for name, value in kwargs.items()}
    for name, kind in _wanted(tool).items():
        if name not in kwargs and not _is_placed(tool, name, len(args)):
            kwargs[name] = next(_copy(one) for one in containers if isinstance(one, kind))
    return args, kwargs


def _wanted(tool: Tool) -> dict[str, type[Container]]:
    """The parameters that are annotated as a container, and a bare one that is called `pool`."""
    hints = _hints(tool)
    parameters = inspect.signature(tool.function).parameters
    wanted = {name: kind for name in parameters if (kind := _container(hints.get(name))) is not None}
    if "pool" in parameters and parameters["pool"].annotation is inspect.Parameter.empty:
        wanted["pool"] = ContextPool
    return wanted


def _hints(tool: Tool) -> dict[str, Any]:
    try:
        return get_type_hints(tool.function)
    except Exception:  # a name that cannot be found: the parameter has to be given
        return {}


def _container(hint: Any) -> type[Container] | None:
    if get_origin(hint) is Annotated:
        return _container(get_args(hint)[0])
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    for member in members:
        if member is not NoneType and isinstance(member, type) and issubclass(member, Container):
            return ContextPool if issubclass(member, ContextPool) else ContextQueue
    return None


def _is_placed(tool: Tool, name: str, count: int) -> bool:
    return list(inspect.signature(tool.function).parameters).index(name) < count


def _copied(value: Any, containers: tuple[Container, ...]) -> Any:
    return _copy(value) if any(value is one for one in containers) else value


def _copy(container: Container) -> Container:
    return container.branch(hooks=[])
