"""A pytest plugin with the fixture `assert_valid`, which asserts that a provider accepts a payload."""

import pytest

from quire.providers.check import assert_valid


@pytest.fixture(scope="session", name="assert_valid")
def fixture() -> object:
    return assert_valid
