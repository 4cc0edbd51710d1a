"""Griffe extension: signatures that cannot be read from the source alone.

Structs and named tuples have no `__init__`: the order, kinds and defaults of the parameters are those of the
class at run time, annotations are as written. `name = plain(Other.verb)` has the signature and docstring of
that verb. A package shows the names that the root has first, then classes, functions and constants.
"""

import inspect
import re
from importlib import import_module
from typing import Any

import msgspec
from griffe import (
    Alias,
    Attribute,
    Class,
    Expr,
    Extension,
    Function,
    Module,
    Parameter,
    ParameterKind,
    Parameters,
)

from quire.errors import MissingExtra


class Signatures(Extension):
    """Adds the signatures of structs and of plain verbs."""

    def on_package(self, *, pkg: Module, **kwargs: Any) -> None:
        """Add the signatures of a package that was loaded."""
        for module in _modules(pkg):
            _order_exports(module, [str(name) for name in pkg.exports or ()])
            for cls in [each for each in module.members.values() if isinstance(each, Class)]:
                if "__init__" not in cls.members and not cls.name.startswith("_"):
                    _add_init(cls, pkg)
                for member in [each for each in cls.members.values() if isinstance(each, Attribute)]:
                    if verb := re.match(r"plain\((\w+)\.(\w+)", str(member.value)):
                        _add_plain_verb(cls, member, module[verb[1]].members[verb[2]])


def _modules(module: Module) -> list[Module]:
    inner = [each for each in module.members.values() if isinstance(each, Module)]
    return [module, *(found for each in inner for found in _modules(each))]


def _order_exports(module: Module, first: list[str]) -> None:
    """Number the names that a package imports and exports; members are shown in that order."""
    aliases = [each for each in module.members.values() if isinstance(each, Alias)]
    aliases.sort(key=lambda each: (each.name not in first, each.name.isupper(), each.name))
    for number, alias in enumerate(aliases):
        alias.alias_lineno = number


def _add_plain_verb(cls: Class, member: Attribute, verb: Function) -> None:
    plain = Function(
        member.name, parameters=verb.parameters, returns=verb.returns, docstring=verb.docstring, parent=cls
    )
    plain.lineno, plain.endlineno = member.lineno, member.endlineno
    cls.set_member(member.name, plain)


def _add_init(cls: Class, package: Module) -> None:
    try:
        runtime = getattr(import_module(cls.module.path), cls.name, None)
    except (ImportError, MissingExtra):  # a module of an extra that is not installed
        return
    if not (isinstance(runtime, type) and issubclass(runtime, msgspec.Struct | tuple)):
        return
    parameters = [Parameter("self", kind=ParameterKind.positional_or_keyword)]
    for name, given in inspect.signature(runtime).parameters.items():
        annotation, written = _as_written(name, runtime, package)
        default = None if given.default is given.empty else "..." if "field(" in str(written) else written
        kind = ParameterKind[given.kind.name.lower()]
        parameters.append(Parameter(name, annotation=annotation, kind=kind, default=default))
    cls.set_member(
        "__init__", Function("__init__", parameters=Parameters(*parameters), returns="None", parent=cls)
    )


def _as_written(name: str, runtime: type, package: Module) -> tuple[str | Expr | None, str | Expr | None]:
    """The annotation and the default of a field, in the source of the class that declares it."""
    for base in runtime.__mro__:
        path = f"{base.__module__}.{base.__qualname__}".split(".")
        if name in inspect.get_annotations(base) and path[0] == package.name:
            field: Any = package[".".join(path[1:])].members[name]
            return field.annotation, field.value
    return None, None
