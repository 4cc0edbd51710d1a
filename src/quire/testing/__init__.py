"""The laws that Quire's own stores, sections, compactors and providers are tested with, for yours.

Subclass one of the classes in a test module, say what it is to test, and run pytest:

    class TestFileStore(StoreLaws):
        def open(self, folder: Path) -> Store:
            return FileStore(folder / "kept")

Each test is one law, and its name says what is promised. `broken_histories` are data: histories that
providers refuse, to test any framework with. `compare` says whether a model does the same after a compaction.
Needs the extra `testing`. Hypothesis draws the examples: a profile of yours (`settings.register_profile`)
sets how many.
"""

from quire.errors import MissingExtra

try:
    import hypothesis as hypothesis
    import pytest
except ImportError as missing:
    raise MissingExtra(missing.name or "pytest", "testing") from missing
else:  # so that a failure shows the values that were compared
    pytest.register_assert_rewrite(
        *(f"quire.testing.{name}" for name in ("compactors", "providers", "sections", "stores"))
    )

from quire.testing.broken import BrokenHistory, broken_histories
from quire.testing.compactors import CompactorLaws
from quire.testing.comparison import Answered, Comparison, Difference, compare
from quire.testing.providers import ProviderLaws
from quire.testing.sections import SectionLaws
from quire.testing.stores import StoreLaws

__all__ = [
    "Answered",
    "BrokenHistory",
    "CompactorLaws",
    "Comparison",
    "Difference",
    "ProviderLaws",
    "SectionLaws",
    "StoreLaws",
    "broken_histories",
    "compare",
]
