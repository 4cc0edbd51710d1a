"""Leaves for tests: drawn ones from a small world, in which much is alike, and plain ones by hand."""

from hypothesis import strategies as st

from quire.memory.leaf import Kind, Leaf

NOW = 1_700_000_000.0
DAY = 86_400.0
_WORDS = "car vehicle dog puppy bought Ana Ben yesterday last week the of Berlin 7 November 2023 why"
WORDS = _WORDS.split(" ")
QUESTIONS = [
    "vehicle",
    "Which dog did Ana buy last week?",
    "What did Ana buy on 7 November 2023?",
    "When was Ben in Berlin?",
    "the of",
    "",
    "数据库",
]
SPEAKERS = ["Ana", "Ben", "user"]
KINDS: list[Kind] = ["said", "done", "note", "document"]


def said(text: str, order: int = 0, **more: object) -> Leaf:
    """A leaf of the first conversation."""
    given: dict[str, object] = {
        "source": "one",
        "key": f"i{order}",
        "order": order,
        "stretch": 0,
        "ids": (f"i{order}",),
        "kind": "said",
        "at": NOW + order,
        "speaker": "Ana",
        "text": text,
    }
    return Leaf(**(given | more))  # type: ignore[arg-type]


texts = st.lists(st.sampled_from([*WORDS, "?", "."]), max_size=8).map(" ".join)

leaves = st.builds(
    Leaf,
    source=st.sampled_from(["one", "two"]),
    transcript=st.sampled_from(["main", "side"]),
    key=st.sampled_from([f"k{nth}" for nth in range(9)]),
    order=st.integers(0, 9),
    stretch=st.integers(0, 1),
    ids=st.just(("x",)),
    kind=st.sampled_from(KINDS),
    at=st.sampled_from([NOW, NOW - DAY, NOW - 7 * DAY]),
    speaker=st.sampled_from(SPEAKERS),
    text=texts,
    importance=st.sampled_from([0.1, 0.5, 0.9]),
)
