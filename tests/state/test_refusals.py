"""What callers hand in by mistake is refused with an error of the library, short and without content."""

from collections.abc import Callable
from typing import Any

import pytest

from quire.errors import InvalidLimit, InvalidValue, QuireError, UnknownId, UnknownKey, WrongType
from quire.items import Hide, Message, Span
from quire.state import (
    Pool,
    Scroll,
    Transcript,
    Where,
    Window,
    brief,
    by_agent,
    by_role,
    closing_results,
    fork_scoped,
    groups,
    merge_all,
    merge_result,
    of_kind,
    pending_calls,
    plan_summary,
    select,
    structural,
    truncate,
    using_tool,
)
from tests.counting import Gives, Items


def talk() -> Transcript:
    return Transcript([Message("user", "hello", id="u"), Message("assistant", "hi", id="a")])


def plan() -> Any:
    return plan_summary(Transcript(), talk())


class Half:
    """Counts, and knows neither its key nor a total."""

    def count(self, item: object) -> int:
        return 1


MISTAKES: dict[str, Callable[[Any], object]] = {
    "tokens": lambda wrong: talk().view.tokens(wrong),
    "truncate": lambda wrong: truncate(talk().view, tokens=1, counter=wrong),
    "fork_scoped": lambda wrong: fork_scoped(wrong),
    "merge_result child": lambda wrong: merge_result(talk(), wrong),
    "merge_result parent": lambda wrong: merge_result(wrong, talk()),
    "merge_all": lambda wrong: merge_all(talk(), wrong),
    "plan_summary": lambda wrong: plan_summary(wrong, talk()),
    "summary": lambda wrong: plan().summary(wrong),
    "Pool": lambda wrong: Pool(wrong),
    "get": lambda wrong: Pool().get(wrong),
    "remove": lambda wrong: Pool().remove(wrong),
    "Window": lambda wrong: Window(wrong, limit=2),
    "groups": lambda wrong: groups(wrong),
    "pending_calls": lambda wrong: pending_calls(wrong),
    "select": lambda wrong: select(wrong, of_kind(Message)),
    "select by": lambda wrong: select(talk().view, wrong),
    "of_kind": lambda wrong: of_kind(wrong),
    "no items": lambda wrong: groups([wrong]),
    "no calls": lambda wrong: pending_calls([wrong]),
    "select from no items": lambda wrong: select([wrong], by_agent("a")),
    "and": lambda wrong: structural & wrong,
    "or": lambda wrong: structural | wrong,
    "closing_results": lambda wrong: closing_results(wrong),
}


@pytest.mark.parametrize("wrong", [None, 3, 1.5, Half()], ids=["none", "int", "float", "object"])
@pytest.mark.parametrize("call", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_a_wrong_type(call: Callable[[Any], object], wrong: object) -> None:
    with pytest.raises(WrongType):
        call(wrong)


@pytest.mark.parametrize("tools", [b"x", bytearray(b"x"), "x"])
def test_one_name_is_not_several(tools: Any) -> None:
    with pytest.raises(WrongType):
        fork_scoped(talk(), tools=tools)


@pytest.mark.parametrize("given", [None, 1.5, "3", True, -1, 10**400])
def test_a_counter_that_gives_no_count_is_named(given: Any) -> None:
    for counter in (Gives(given), Gives(total=given)):
        with pytest.raises(QuireError, match="of the counter 'gives'"):
            talk().view.tokens(counter)
        with pytest.raises(QuireError, match="of the counter 'gives'"):
            truncate(talk().view, tokens=1, counter=counter)


def test_one_item_beyond_all_counts_is_refused() -> None:
    with pytest.raises(InvalidLimit, match="'gives'"):
        talk().view.tokens(Gives(2**53))


def test_counts_that_add_up_beyond_all_counts_are_refused_while_they_are_shown() -> None:
    transcript = Transcript(Message("assistant", "x", id=f"{n:05}") for n in range(10_000))
    counter = Gives(2**40)
    with pytest.raises(InvalidLimit, match="all that is shown"):
        transcript.view.counted(counter)
    transcript.append(Hide((Span("00000", "08999"),)))
    assert transcript.view.counted(counter) == 1000 * 2**40


def test_a_counter_is_no_class_and_has_a_text_for_a_key() -> None:
    kind: Any = Gives
    with pytest.raises(WrongType, match="class"):
        talk().view.tokens(kind)
    counter: Any = Gives()
    counter.key = 3
    with pytest.raises(WrongType, match="key"):
        talk().view.tokens(counter)


def item_at(wrong: Any) -> object:
    return talk().view[wrong]  # pyright: ignore[reportUnknownVariableType]


READING: dict[str, Callable[[Any], object]] = {
    "run_at": lambda wrong: talk().view.run_at(wrong),
    "place_at": lambda wrong: talk().view.place_at(wrong),
    "run_tokens": lambda wrong: talk().view.run_tokens(wrong, Items()),
    "get": lambda wrong: talk().view.get(wrong),
    "position": lambda wrong: talk().view.position(wrong),
    "fate": lambda wrong: talk().view.fate(wrong),
    "item at": item_at,
    "index from": lambda wrong: talk().view.index(None, wrong),
    "index to": lambda wrong: talk().view.index(None, 0, wrong),
    "counted": lambda wrong: talk().view.counted(wrong),
    "recorded": lambda wrong: talk().recorded(wrong),
    "at": lambda wrong: talk().at(wrong),
}


@pytest.mark.parametrize("wrong", [b"x", 1.5, [], object()])
@pytest.mark.parametrize("verb", READING)
def test_a_view_says_what_it_expected(verb: str, wrong: Any) -> None:
    with pytest.raises(WrongType):
        READING[verb](wrong)


@pytest.mark.parametrize("position", [-3, 2, 10**30])
def test_a_view_has_no_places_beyond_its_ends(position: int) -> None:
    with pytest.raises(QuireError):
        talk().view.run_at(position)
    with pytest.raises(QuireError):
        talk().view.place_at(position)
    view = talk().view
    assert view.place_at(-1) == view.place_at(1), "from the end, as any index"


def test_a_view_is_searched_as_any_sequence_is() -> None:
    view = talk().view
    assert [view.index(item) for item in view] == [0, 1]
    assert view.index(view[1], -1) == 1
    with pytest.raises(InvalidValue, match="not among"):
        view.index(view[0], 1)
    for stranger in (Message("user", "hello", id="other"), None, "u"):
        with pytest.raises(InvalidValue, match="not among"):
            view.index(stranger)


@pytest.mark.parametrize("tools", [[1, None], ["read", 5], {None}, [b"read"]])
def test_tools_are_named_by_texts(tools: Any) -> None:
    with pytest.raises(WrongType):
        fork_scoped(talk(), tools=tools)


@pytest.mark.parametrize("wrong", [0, [], b"x", ["user"]])
def test_names_are_texts(wrong: Any) -> None:
    for make in (by_role, by_agent, using_tool, Where, lambda task: brief("Do it.", task)):  # pyright: ignore
        with pytest.raises(WrongType):
            make(wrong)


@pytest.mark.parametrize("key", [[], {}, None, 3])
def test_what_is_no_key_is_not_in_the_pool(key: object) -> None:
    assert key not in Pool()
    with pytest.raises(WrongType):
        Pool().get(key)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_long_names_are_cut() -> None:
    long = "s" * 100_000
    calls: list[tuple[type[QuireError], Callable[[], object]]] = [
        (UnknownKey, lambda: Pool().get(long)),
        (UnknownId, lambda: talk().get(long)),
        (UnknownId, lambda: talk().view.fate(long)),
    ]
    for error, call in calls:
        with pytest.raises(error) as caught:
            call()
        assert "s" * 80 in str(caught.value) and len(str(caught.value)) < 200


def scroll() -> Scroll:
    return Scroll(view=talk().view)


REFUSED: dict[str, Callable[[], object]] = {
    "an index that is a text": lambda: scroll()["a"],  # type: ignore[call-overload]  # pyright: ignore
    "a slice that stands still": lambda: scroll()[::0],
    "a slice of texts": lambda: scroll()["a":],  # pyright: ignore
    "a start beyond the view": lambda: Scroll(view=talk().view, start=100),
    "a start before the view": lambda: Scroll(view=talk().view, start=-1),
    "a scroll of no view": lambda: Scroll(view=talk()),  # type: ignore[arg-type]  # pyright: ignore
    "a parent that is none": lambda: merge_result(5, Transcript()),  # type: ignore[arg-type]  # pyright: ignore
    "an agent that is a number": lambda: merge_all(talk(), talk(), 5),  # type: ignore[arg-type]  # pyright: ignore
    "an agent of a result": lambda: merge_result(talk(), talk(), 5),  # type: ignore[arg-type]  # pyright: ignore
    "an agent of a plan": lambda: plan_summary(talk(), talk(), 5),  # type: ignore[arg-type]  # pyright: ignore
    "what is no note": lambda: Pool().evicted_by(5),  # type: ignore[arg-type]  # pyright: ignore
    "a role there is not": lambda: by_role("bogus"),
    "a kind that is none": lambda: of_kind(str),  # type: ignore[arg-type]  # pyright: ignore
    "a kind that is a list": lambda: of_kind([]),  # type: ignore[arg-type]  # pyright: ignore
}


@pytest.mark.parametrize("mistake", REFUSED.values(), ids=REFUSED)
def test_it_is_refused_by_an_error_of_the_library(mistake: Callable[[], object]) -> None:
    with pytest.raises(QuireError):
        mistake()
