"""The design, held by tests: floors, the purity line, sizes, names that are not used.

The rules are in `tests/architecture`, with tests of their own.
"""

import pytest

from tests.architecture.floors import going_down
from tests.architecture.purity import ALLOWED_IN, untouched
from tests.architecture.shapes import few_verbs, honest_names, small, told
from tests.architecture.source import Rule, library

RULES: dict[str, Rule] = {
    "imports go down and never sideways": going_down,
    "above the line nothing touches the world": untouched,
    "rooms are small": small,
    "classes have few verbs": few_verbs,
    "names are honest": honest_names,
    "every module says what it is": told,
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_the_design_holds(rule: Rule) -> None:
    found = [f"src/quire/{file.path}:{line} {wrong}" for file in library() for line, wrong in rule(file)]
    assert not found, "\n".join(found)


def test_exceptions_are_for_files_that_exist() -> None:
    assert set(ALLOWED_IN) <= {file.path.as_posix() for file in library()}
