"""Documents of all shapes, drawn by chance."""

from hypothesis import strategies as st

from quire.memory.documents import Block, Document

_WORDS = [
    "tide",
    "Lamp",
    "e.g.",
    "U+1F600",
    "x" * 90,
    "naïve",
    "灯台は夜に光る。",
    "🧵🧵",
    "3.14",
    "(so)",
    "end.",
]
SENTENCES = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=30).map(
    lambda words: " ".join(words) + "."
)
TEXTS = (
    SENTENCES
    | st.lists(SENTENCES, min_size=1, max_size=8).map("\n".join)
    | st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1, max_size=80)
    | st.integers(1, 900).map(lambda length: "q" * length)
)
LINES = st.lists(st.sampled_from(["def f():", "    return 1", "", "\tx = [" + "1, " * 40 + "]"]), min_size=1)


def said(text: str) -> str:
    """A text without what may be lost between blocks."""
    return "".join(text.split())


def blocks() -> st.SearchStrategy[Block]:
    texts = TEXTS.map(str.strip).filter(bool)
    short = texts.map(lambda text: " ".join(text.split())[:300].strip()).filter(bool)
    code = LINES.map(lambda lines: "\n".join(lines).strip("\n").rstrip()).filter(bool)
    return (
        st.builds(Block, st.just("heading"), short, st.integers(1, 6))
        | st.builds(Block, st.just("paragraph"), texts)
        | st.builds(Block, st.just("item"), texts, st.integers(0, 4))
        | st.builds(Block, st.just("code"), code)
        | st.builds(Block, st.just("row"), short, is_header=st.booleans())
    )


def documents() -> st.SearchStrategy[Document]:
    several = st.lists(blocks(), max_size=12).map(tuple)
    return st.builds(Document, st.just("guide"), st.just("Guide"), st.just("text/plain"), several)
