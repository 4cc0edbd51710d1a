"""What a call gives that was looked at by itself: records may do for others where they have their keys."""

import ast
import re
from functools import cached_property

from quire.programs.sandbox.assigning import said_in
from quire.programs.sandbox.loose_records import keys_in, keys_put
from quire.programs.sandbox.naming import declared_in
from quire.programs.sandbox.parsing import module_of


class Results:
    """The records of one program. It may put keys into them that they had not."""

    def __init__(self, program: ast.Module, stubs: str) -> None:
        self._program, self._stubs = program, stubs

    @cached_property
    def _keys(self) -> dict[str, tuple[set[str], set[str]]]:
        return keys_in(module_of(self._stubs))

    @cached_property
    def _put(self) -> set[str]:
        return keys_put(self._program, declared_in(self._stubs).variables)

    def may_do(self, message: str) -> bool:
        """Whether the records that are found in place of others have the keys that those have to have."""
        found, wanted = (self._named_in(said) for said in said_in(message) or ("", ""))
        needed = [self._keys[name][1] for name in wanted]
        return not needed or all(
            any(each <= self._keys[name][0] | self._put for each in needed) for name in found
        )

    def _named_in(self, said: str) -> list[str]:
        return [name for name in re.findall(r"\w+", said) if name in self._keys]
