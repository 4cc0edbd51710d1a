"""The annotations of functions and classes, with the names in them looked up."""

from collections.abc import Mapping
from typing import Any, get_type_hints

from quire.errors import WrongType


def hints_of(written: Any, names: Mapping[str, Any]) -> dict[str, Any]:
    """The hints by name. Names that the module does not have are looked up in `names`.

    One that is nowhere is a `NameError`.
    """
    try:
        try:
            return get_type_hints(written, include_extras=True)
        except NameError:
            return get_type_hints(written, localns=dict(names), include_extras=True)
    except (AttributeError, SyntaxError, TypeError) as fault:
        raise WrongType(f"its annotations cannot be read: {fault}") from None
