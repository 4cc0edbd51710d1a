"""Results of tools are kept: lone surrogates in them are replaced, as in the replies of models."""

from typing import Any

import pytest

from quire.errors import WrongType
from quire.items import Image, Message, ToolResult
from quire.stores import MemoryStore
from tests.session.opened import apart, session

NAME = b"caf\xe9.txt".decode("utf8", "surrogateescape")
PICTURE = Image(url="https://example.org/a.png", media_type="image/png")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (NAME, "caf\ufffd.txt"),
        ("well \ud83d\ude00 done", "well \U0001f600 done"),
        ("well done \ud83d", "well done \ufffd"),
        ("café", "café"),
        ([NAME, PICTURE], ("caf\ufffd.txt", PICTURE)),
        ((PICTURE, "a"), (PICTURE, "a")),
    ],
)
def test_lone_surrogates_in_a_result_are_replaced(given: Any, kept: Any) -> None:
    store = MemoryStore()
    one = session(store)
    one.user("go")
    call = one.call("ls")
    result = one.tool(given, call_id=call.call_id)
    assert (result.content, result.name) == (kept, "ls")
    assert not one.view().pending()
    (read,) = [item for item in apart(store).view() if isinstance(item, ToolResult)]
    assert read.content == kept


@pytest.mark.parametrize("wrong", [None, 5, {"a": 1}])
def test_what_is_no_content_is_refused(wrong: Any) -> None:
    one = session()
    call = one.call("ls")
    with pytest.raises(WrongType, match=r"ToolResult\.content"):
        one.tool(wrong, call_id=call.call_id)
    assert one.view().pending()


def test_fields_of_a_result_are_kept() -> None:
    one = session()
    call = one.call("ls", to="side")
    result = one.tool(NAME, call_id=call.call_id, name="list", to="side", is_error=True)
    assert (result.name, result.is_error) == ("list", True)
    assert not [item for item in one.view() if not isinstance(item, Message)]
