"""Standing instructions and preferences: which sentences of a user hold for later requests too.

"Always cite in APA" and "I prefer the quiet floor" share no words with the requests they apply to, so a
search does not find them. They are recognised by how they are put, in English, and only in the user's own
words: not in code, quotations or long pasted texts. What is asked for once ("Send it today") is not one.
"""

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from quire.memory.leaf import WISH, Leaf
from quire.memory.words import terms

_LONGEST = 600
"""Characters of a sentence that are kept."""

_LONG_MESSAGE = 2_000
"""Characters beyond which only the first and the last paragraph are read: the rest is likely to be pasted."""

_PASTED = re.compile(
    r"""```.*?(?:```|\Z) | ^\s*>.*?$ | ["\u201c][^"\u201d\n]{12,}["\u201d]""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
_SENTENCE = re.compile(r"\S.*?(?:[.!?]+(?=\s|$)|$)", re.MULTILINE)

_LISTS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("wishes.toml").read_text("utf-8"))


def _pattern(name: str, lead: str = "") -> "re.Pattern[str]":
    text = f"{lead}(?:{'|'.join(_LISTS['rules'][name])})"
    for part, words in reversed(_LISTS["parts"].items()):
        text = text.replace(part, f"(?:{words})")
    return re.compile(text.replace("\n", ""), re.IGNORECASE)


_INSTRUCTION = _pattern("instructions")
_PREFERENCE = _pattern("preferences", lead=r"\b(?=[imw])")
_NOT_OWN = _pattern("not_own")
_LEAD = _pattern("lead")
_REQUEST = _pattern("requests")
_FORBIDS = _pattern("forbids")
_OF_CONVERSATION = _pattern("of_conversation")
_CLAUSE_END = _pattern("ends")
_COMMON = frozenset(
    terms("always never please prefer include use ask make sure when whenever show give like want")
)


class Phrase(NamedTuple):
    """A sentence that holds for later requests too, and the clause of it that says so."""

    sentence: str
    clause: str


class Wish(NamedTuple):
    """A standing instruction or a preference, and the message or note that it is from."""

    text: str
    clause: str
    """The part of the text that says it: "I prefer trains" of "I prefer trains, so can you book one?"."""
    leaf: Leaf
    nth: int
    """Its place among those of the same message."""

    @property
    def is_of_conversation(self) -> bool:
        """Whether it says that it is for one conversation; others hold for the scope."""
        return _OF_CONVERSATION.search(self.text) is not None

    @property
    def is_in_passing(self) -> bool:
        """Whether its sentence begins with something else."""
        return not self.text.startswith(self.clause)

    @property
    def forbids(self) -> bool:
        """Whether it says what is not wanted."""
        return _FORBIDS.search(self.clause) is not None


def wishes_of(leaves: Iterable[Leaf], conversation: str | None = None) -> list[Wish]:
    """Return the wishes of leaves, the newest leaf first, but those in sentences of their own before others.

    Of two about the same, the newer holds. One that is said again stays as it was first said.
    """
    held, bags = list[Wish](), list[frozenset[str]]()
    by_term = defaultdict[str, list[int]](list)
    for leaf in leaves:
        said = [Wish(*phrase, leaf, nth) for nth, phrase in enumerate(wishes_in(leaf.text))]
        for wish in reversed(said):
            if wish.is_of_conversation and conversation not in (None, leaf.source):
                continue
            bag = frozenset(terms(wish.clause)) - _COMMON
            near = dict.fromkeys(nth for term in bag for nth in by_term[term])
            same = (nth for nth in near if _is_replaced(wish, bag, held[nth], bags[nth]))
            newer = next(same, None)
            if newer is None:
                for term in bag:
                    by_term[term].append(len(held))
                held.append(wish)
                bags.append(bag)
            elif bag == bags[newer] and wish.forbids == held[newer].forbids:
                held[newer] = wish
    return sorted(held, key=lambda wish: wish.is_in_passing)


def _is_replaced(older: Wish, bag: frozenset[str], newer: Wish, other: frozenset[str]) -> bool:
    """Whether a newer wish takes the place of an older one: it differs in a word or so.

    What is forbidden or not borne adds up: of two such both hold.
    """
    changed = max(len(bag), len(other)) - len(bag & other)
    return not changed or (changed <= max(1, len(bag) // 4) and not (older.forbids and newer.forbids))


def wishes_in(text: str) -> Iterator[Phrase]:
    """Yield the sentences of a user's message that hold for later requests too."""
    if text.startswith(WISH):  # a note that a person keeps
        kept = " ".join(text.removeprefix(WISH)[:_LONGEST].split())
        yield Phrase(kept, kept)
        return
    for found in _SENTENCE.finditer(_own_words(text)):
        if (phrase := _phrase_in(" ".join(found[0].strip(" -*\u2022\t").split()))) is not None:
            yield phrase


def _own_words(text: str) -> str:
    """Return a message without what is likely to be pasted."""
    if len(text) > _LONG_MESSAGE:
        paragraphs = [one for one in text.split("\n\n") if one.strip()] or [""]
        text = "\n".join(one[:_LONG_MESSAGE] for one in dict.fromkeys((paragraphs[0], paragraphs[-1])))
    return _PASTED.sub(" \n", text)


def _phrase_in(sentence: str) -> Phrase | None:
    """Return the standing instruction or preference that a sentence is, if it is one."""
    plain = sentence.replace("\u2019", "'")
    lead = _LEAD.match(plain)
    start = 0 if lead is None else lead.end()
    if last := _INSTRUCTION.match(plain, start):
        is_wish, start = not plain.endswith("?") or bool(_REQUEST.match(plain, start)), 0
    elif preferences := [*_PREFERENCE.finditer(plain)]:
        is_wish, start, last = not _NOT_OWN.search(plain), preferences[0].start(), preferences[-1]
    else:
        return None
    if not is_wish:
        return None
    end = _CLAUSE_END.search(plain, last.end())
    clause = sentence[start : end.start() if end else None].rstrip(" ,")[:_LONGEST]
    return Phrase(sentence if len(sentence) <= _LONGEST else clause, clause)
