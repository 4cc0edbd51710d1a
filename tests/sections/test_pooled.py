"""Notes: the catalogue, those that are chosen, and a model that chooses."""

import asyncio

import pytest

from quire.errors import InvalidValue, WrongType
from quire.items import Message, Note
from quire.providers import PROVIDERS
from quire.sections import Ask, Catalogue, Pooled, choosing
from quire.sections.choosing import keys_in
from quire.state import Pool
from tests.sections.asking import NOTES, asked, items_from

POOL = Pool(
    [Note("up", key="q3", description="revenue\nof Q3"), Note("flat", key="q2"), Note("x", key="q3-draft")]
)


def keys(section: Pooled, pool: Pool = POOL) -> list[str | None]:
    return [item.key for item in items_from(section, Ask(pool=pool)) if isinstance(item, Note)]


def test_a_catalogue_is_one_message_or_nothing() -> None:
    (item,) = items_from(Catalogue(), Ask(pool=POOL))
    assert isinstance(item, Message) and item.role == "system"
    assert item.text.splitlines()[1:] == ["- [q3] revenue of Q3", "- [q2]", "- [q3-draft]"]
    (told,) = items_from(Catalogue(heading="", role="user"), Ask(pool=POOL))
    assert isinstance(told, Message) and told.role == "user" and told.text.startswith("- [q3]")
    assert items_from(Catalogue(), Ask()) == [] and Catalogue().stability == "volatile"
    with pytest.raises(InvalidValue, match="the system, the developer or the user"):
        Catalogue(role="assistant")  # type: ignore[arg-type]
    with pytest.raises(WrongType, match="the heading of a catalogue is a text"):
        Catalogue(heading=None)  # type: ignore[arg-type]


def test_all_notes_or_those_with_certain_keys_in_the_order_chosen() -> None:
    assert keys(Pooled()) == ["q3", "q2", "q3-draft"] and keys(Pooled(), Pool()) == []
    assert keys(Pooled(["q2", "gone", "q3", "q2"])) == ["q2", "q3"]
    assert items_from(Pooled(["q2"]), Ask(pool=POOL))[0] is POOL.get("q2")


def test_notes_that_a_selector_names() -> None:
    seen: list[str] = []

    async def select(catalogue: str, ask: Ask) -> set[str]:
        seen.append(catalogue)
        return {ask.parameters.get("key", "q2")}

    assert keys(Pooled(select=select)) == ["q2"] and seen == [POOL.catalogue()]
    assert keys(Pooled(select=lambda catalogue, ask: ("q3", "lost"))) == ["q3"]
    assert keys(Pooled(select=select), Pool()) == [] and len(seen) == 1


def test_what_is_refused() -> None:
    with pytest.raises(InvalidValue, match="not by both"):
        Pooled(["q2"], select=lambda catalogue, ask: [])
    with pytest.raises(WrongType, match="a list of texts, not str"):
        Pooled("q2")
    with pytest.raises(WrongType, match="the key of a note is a text, not int"):
        Pooled([3])  # type: ignore[list-item]
    with pytest.raises(WrongType, match="a selector of notes is a function"):
        Pooled(select=["q2"])  # type: ignore[arg-type]
    with pytest.raises(WrongType, match="a list of texts, not NoneType"):
        asked(Pooled(select=lambda catalogue, ask: None), Ask(pool=POOL))  # type: ignore[arg-type, return-value]


def test_contents_of_every_kind_are_told_on_every_wire() -> None:
    items = items_from(Pooled(), Ask(pool=Pool(NOTES)))
    for name, provider in PROVIDERS.items():
        payload = provider.render([*items, Message("user", "So?")]).payload
        assert not provider.check(payload), name
        told = str(payload)
        assert '{"margin":[1,2.5,null]}' in told and "words" in told and "✓" in told


def test_a_model_reads_the_catalogue_and_the_input_and_names_keys() -> None:
    prompts: list[str] = []

    async def model(prompt: str) -> str:
        await asyncio.sleep(0)
        prompts.append(prompt)
        return "- [q3]\n- [q2]\n- [q9]"

    ask = Ask(pool=POOL, input=Message("user", "How was {catalogue} Q3?"))
    notes = asyncio.run(Pooled(select=choosing(model)).items(ask))
    assert [note.key for note in notes] == ["q3", "q2"]
    assert POOL.catalogue() in prompts[0] and "How was {catalogue} Q3?" in prompts[0]
    assert len(asyncio.run(Pooled(select=choosing(model, limit=1)).items(ask))) == 1
    asyncio.run(Pooled(select=choosing(model)).items(Ask(pool=POOL)))
    assert "(not known)" in prompts[-1]


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        ("q3", ["q3"]),
        ("q2\nq3\n", ["q2", "q3"]),
        ("- q2\n* `q3`", ["q2", "q3"]),
        ("1. q2\n2) q3", ["q2", "q3"]),
        ("q3, q2", ["q3", "q2"]),
        ("Q3; Q2.", ["q3", "q2"]),
        ('["q2", "q3-draft", "other"]', ["q2", "q3-draft"]),
        ('```json\n["q2"]\n```', ["q2"]),
        ("[q3-draft] and [q2]", ["q3-draft", "q2"]),
        ("q3: it has the revenue\nq2 (to compare)", ["q3", "q2"]),
        ("I would look at q3-draft first, then at q2, I think", ["q3-draft", "q2"]),
        ("I would look at q3-draft before q2 I think", ["q3-draft", "q2"]),
        ("none", []),
        ("", []),
        ("[]", []),
        ("q33 and xq2", []),
    ],
)
def test_keys_are_read_leniently(answer: str, named: list[str]) -> None:
    assert keys_in(answer, ["q3", "q2", "q3-draft"]) == named


def test_odd_keys_are_found_as_the_catalogue_shows_them() -> None:
    assert keys_in("two lines", ["two\nlines"]) == ["two\nlines"]
    assert keys_in("1, 2", ["1", "2"]) == keys_in("[1, 2]", ["1", "2"]) == ["1", "2"]
    assert keys_in("a note", ["a"]) == ["a"] and keys_in("x", []) == [] and keys_in("-", ["-"]) == ["-"]
    with pytest.raises(WrongType, match="a model answers with a text, not NoneType"):
        keys_in(None, ["a"])  # type: ignore[arg-type]
