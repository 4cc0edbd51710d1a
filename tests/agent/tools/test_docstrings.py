"""Docstrings in the styles that people write them in."""

import pytest

from quire.agent.tools.docstrings import told_by

GOOGLE = """Find it.

    More of it: in detail.

    Args:
        query (str, optional): What to look for,
            in words.

            And more.
        *rest: Others.
        limit: How many: at most.

    Returns:
        query: not this one.

    Raises:
        ValueError: if not.

    At the end.
    """
NUMPY = """Find it.

    More of it: in detail.

    Parameters
    ----------
    query : str, optional
        What to look for,
        in words.

        And more.
    *rest
        Others.
    limit, other : int
        How many: at most.

    Returns
    -------
    str
        Not this one.
    """
SPHINX = """Find it.

    More of it: in detail.

    :param query: What to look for,
        in words.

        And more.
    :type query: str
    :param rest: Others.
    :param int limit: How many: at most.
    :returns: not this one
    :raises ValueError: if not
    """
WANTED = {"query": "What to look for, in words. And more.", "rest": "Others.", "limit": "How many: at most."}


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_three_styles_say_the_same(docstring: str) -> None:
    told = told_by(docstring)
    assert told.description.startswith("Find it.\n\nMore of it: in detail.")
    assert "not this" not in told.description.lower() and "ValueError" not in told.description
    assert {name: words for name, words in told.parameters.items() if name != "other"} == WANTED


def test_what_follows_a_section_is_part_of_the_description() -> None:
    assert told_by(GOOGLE).description == "Find it.\n\nMore of it: in detail.\n\nAt the end."


@pytest.mark.parametrize("docstring", [None, "", "   "])
def test_no_docstring_says_nothing(docstring: str | None) -> None:
    assert told_by(docstring) == ("", {})


def test_what_only_looks_like_a_section_is_description() -> None:
    words = "Look up notes:\nthey are here.\n\nExample: like this\n\n- :ref: stays"
    assert told_by(words).description == words
