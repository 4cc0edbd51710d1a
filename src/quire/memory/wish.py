"""Wishes: standing instructions and preferences, which are sentences of a user that hold for later requests.

"Always cite in APA" and "I prefer the quiet floor" share no words with the requests they apply to, so a
search does not find them. They are recognised by their phrasing, in English, and only in the user's own
words: not in code, quotations or long pasted texts. A single request ("Send it today") is no wish.

A prohibition ("Don't touch the production database") holds in its own conversation.
"""

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from quire.memory.leaf import WISH, Leaf
from quire.memory.words import terms

_LONGEST = 600
"""The most characters of a wish."""

_LONG_MESSAGE = 2_000
"""The characters of a message after which only the first and the last paragraph are read. The rest is likely
pasted, and so is the last paragraph if the first ends with a colon."""

_PASTED = re.compile(
    r"""(```|~~~).*?(?:\1|\Z) | ^\s*>.*?$
      | ["\u201c\u201e][^"\u201c\u201d\n]{12,}["\u201c\u201d] | \u00ab[^\u00bb\n]{12,}\u00bb
      | <([\w-]+)\b[^>\n]*>.*?</\2\s*>                                           # what is between tags
      | ^\s*(?:system|developer|assistant|user|human|ai|tool)\s*(?:\([^)\n]*\))?:.*?$  # lines of a transcript
      | ^(?:-{2,}\s*(?:original|forwarded)\b|on\b[^\n]{5,120}\bwrote:\s*$
          |from:[^\n]+\n(?:sent|to|cc|date|subject):).*                            # mail that is answered""",
    re.DOTALL | re.MULTILINE | re.VERBOSE | re.IGNORECASE,
)
_ASKS_BACK = re.compile(r",? (?:ok(?:ay)?|all ?right|right|please)\?$", re.IGNORECASE)
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
_PROHIBITION = _pattern("prohibitions")
_OF_CONVERSATION = _pattern("of_conversation")
_CLAUSE_END = _pattern("ends")
_VALUE_FOLLOWS = _pattern("value_follows")
_WORD = re.compile(r"[\w'\u2019-]+")
_LONGEST_VALUE = 2
"""The most words of a value, such as "APA" and "MLA" in "cite in APA" and "cite in MLA"."""

_COMMON = frozenset(
    terms("always never please prefer include use ask make sure when whenever show give like want")
)


class Phrase(NamedTuple):
    """A sentence that is a wish, its clause that says so, and its number in the message."""

    sentence: str
    clause: str
    number: int


@dataclass(frozen=True)
class Wish:
    """A standing instruction or a preference, and the message or note that says it."""

    text: str
    clause: str
    """The part that says it: "I prefer trains" of "I prefer trains, so can you book one?"."""
    number: int
    """Its number among the sentences of the message."""
    leaf: Leaf

    @cached_property
    def terms(self) -> frozenset[str]:
        """The terms of the clause, without common ones."""
        return frozenset(terms(self.clause)) - _COMMON

    @cached_property
    def words(self) -> list[str]:
        """The words of the clause."""
        return [word for word in _WORD.findall(self.clause.casefold()) if word != "please"]

    @property
    def is_of_conversation(self) -> bool:
        """Whether it is for one conversation, as it says itself; others hold for the scope."""
        return _OF_CONVERSATION.search(self.text) is not None

    @property
    def is_in_passing(self) -> bool:
        """Whether the sentence begins with something else."""
        return not self.text.startswith(self.clause)

    @property
    def forbids(self) -> bool:
        """Whether it forbids or rejects something."""
        return _FORBIDS.search(self.clause) is not None


def wishes_of(leaf: Leaf, *, prohibitions: bool = False) -> list[Wish]:
    """Return the wishes in a leaf, in order; with `prohibitions`, those too."""
    return [Wish(*phrase, leaf) for phrase in wishes_in(leaf.text, prohibitions=prohibitions)]


def in_force(wishes: Iterable[Wish]) -> list[Wish]:
    """Take wishes, newest first, and return those that hold: sentences of their own, then those in passing.

    Of two that contradict each other, or differ in a value, the newer holds. Of a repeated wish the oldest
    wording stays.
    """
    held, by_term = list[Wish](), defaultdict[str, list[int]](list)
    for wish in wishes:
        near = dict.fromkeys(nth for term in wish.terms for nth in by_term[term])
        newer = next((nth for nth in near if _is_replaced(wish, held[nth])), None)
        if newer is None:
            for term in wish.terms:
                by_term[term].append(len(held))
            held.append(wish)
        elif wish.terms == held[newer].terms and wish.forbids == held[newer].forbids:
            held[newer] = wish
    return sorted(held, key=lambda wish: wish.is_in_passing)


def _is_replaced(older: Wish, newer: Wish) -> bool:
    """Whether a newer wish replaces an older one: it contradicts it, or differs in a value.

    In doubt both hold: showing both, the newer last, is better than dropping a valid one. Prohibitions and
    intolerances never replace each other.
    """
    if older.terms == newer.terms:
        return True
    if older.forbids or newer.forbids:
        return False
    before = [pair[0] for pair in takewhile(_is_same, zip(older.words, newer.words, strict=False))]
    old, new = older.words[len(before) :], newer.words[len(before) :]
    after = sum(1 for _ in takewhile(_is_same, zip(reversed(old), reversed(new), strict=False)))
    is_value = len(old) == len(new) and len(old) - after <= _LONGEST_VALUE
    return is_value and _VALUE_FOLLOWS.search(" ".join(before)) is not None


def _is_same(pair: tuple[str, str]) -> bool:
    return pair[0] == pair[1]


def wishes_in(text: str, *, prohibitions: bool = False) -> Iterator[Phrase]:
    """Yield the sentences of a user message that are wishes."""
    if text.startswith(WISH):  # a note that a person keeps
        note = " ".join(text.removeprefix(WISH)[:_LONGEST].split())
        yield Phrase(note, note, 0)
        return
    for number, match in enumerate(_SENTENCE.finditer(_own_words(text))):
        sentence = " ".join(match[0].strip(" -*\u2022\t").split())
        plain = _ASKS_BACK.sub(".", sentence.replace("\u2019", "'"))
        if clause := _clause_in(sentence, plain):
            yield Phrase(sentence if len(sentence) <= _LONGEST else clause, clause, number)
        elif prohibitions and not plain.endswith("?") and _PROHIBITION.match(plain):
            yield Phrase(sentence[:_LONGEST], sentence[:_LONGEST], number)


def _own_words(text: str) -> str:
    """Return a message without the parts that are likely pasted."""
    if len(text) > _LONG_MESSAGE:
        paragraphs = [paragraph for paragraph in text.split("\n\n") if paragraph.strip()] or [""]
        own = paragraphs[:1] if paragraphs[0].rstrip().endswith(":") else (paragraphs[0], paragraphs[-1])
        text = "\n".join(paragraph[:_LONG_MESSAGE] for paragraph in dict.fromkeys(own))
    return _PASTED.sub(" \n", text)


def _clause_in(sentence: str, plain: str) -> str | None:
    """Return the clause of a sentence that is a standing instruction or a preference, if there is one."""
    lead = _LEAD.match(plain)
    start = 0 if lead is None else lead.end()
    if last := _INSTRUCTION.match(plain, start):
        is_wish, start = not plain.endswith("?") or bool(_REQUEST.match(plain, start)), 0
    elif preferences := [*_PREFERENCE.finditer(plain)]:
        last = preferences[-1]
        is_wish, start = not _NOT_OWN.search(plain), preferences[0].start()
    else:
        return None
    if not is_wish:
        return None
    end = _CLAUSE_END.search(plain, last.end())
    return sentence[start : end.start() if end else None].rstrip(" ,")[:_LONGEST]
