"""Items, tokens, state, compactors, sections and context behave as the golden corpora say.

`python -m tests.goldens.record_core --diff` prints all differences; without `--diff` it accepts them.
"""

from itertools import islice

import pytest

from tests.goldens.core import CORPORA, changes


@pytest.mark.parametrize("corpus", CORPORA)
def test_a_corpus_is_computed_as_it_was_recorded(corpus: str) -> None:
    assert list(islice(changes(corpus), 5)) == []
