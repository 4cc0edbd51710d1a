"""Standing instructions and preferences: which sentences of a user hold for later requests too.

"Always cite in APA" and "I prefer the quiet floor" share no words with the requests they apply to, so a
search does not find them. They are recognised by how they are put, in English, and only in the user's own
words: not in code or quotations.
"""

import re
from collections.abc import Iterator

from quire.memory.leaf import WISH
from quire.memory.words import terms

_LONGEST = 600
"""Characters of a sentence that are kept, from the one that begins the clause."""

_READ = 4_000

_PASTED = re.compile(
    r"""```.*?(?:```|\Z) | ^\s*>.*?$ | ["\u201c][^"\u201d\n]{12,}["\u201d]""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
_SENTENCE = re.compile(r"\S.*?(?:[.!?]+(?=\s|$)|$)", re.MULTILINE)
_DO = (
    "add address answer ask assume avoid be begin book bring call change check cite commit confirm "
    "convert copy create delete disable do double-check draft edit enable end explain find format give "
    "go highlight include keep leave let limit list maintain make mention name offer omit order pick "
    "prefix provide push put quote refer remind reply respond return round run schedule send share show "
    "sign skip sort speak spell start state stick stop suggest summarise summarize talk tell touch "
    "translate use wait warn wrap write"
)
_PARTS = {
    "DO": f"(?:{'|'.join(_DO.split())})",
    "LEAD": r"""(?:(?:please|also|and|but|so|hey|ok|okay|oh|btw|by\ the\ way|note|just|reminder|for\ now|today
        |in\ this\ (?:chat|conversation))[,:]?\s+)*""",
    "AGAIN": r"""(?:from\ now\ on|from\ here\ on|going\ forward|from\ this\ point|in\ (?:the\ )?future
        |until\ further\ notice|whenever|every\ time|each\ time|(?:when|any\ ?time)\ (?:i|you|we)\b)""",
}


def _pattern(text: str) -> "re.Pattern[str]":
    for name, part in _PARTS.items():
        text = text.replace(name, part)
    return re.compile(text, re.VERBOSE | re.IGNORECASE)


_INSTRUCTION = _pattern(
    r"""^LEAD(?:
    (?:always|never)\s+(?!(?:mind|ever|a|been|had|thought|wanted|knew|heard|saw|seen|here|again)\b)\w
    | (?:do\ not|don't)\ ever\s+\w
    | AGAIN,?\s.*\b(?:please|always|never|don't|do\ not|DO|you\ (?:should|must)|i\ (?:want|prefer)
        |i'd\ like)\b
    | DO\b.*\b(?:AGAIN|every\ (?:answer|reply|response|message|mail|email|report))\b
    | (?:do\ not|don't|stop|avoid)\s+(?:\w+ing|DO)\b.*
        \b(?:any\ ?more|again|ever|unless|until|before|without)\b
    | (?:make\ sure|be\ sure|remember|don't\ forget)\s+(?:to|you|that\ you)\s+(?:always|never)\b
    | (?:you\ (?:should|must)|i\ (?:want|need|expect|would\ like)\ you\ to|i'd\ like\ you\ to)
        \s+(?:always|never)\b
    | call\ me\s+\w)"""
)
_PREFERENCE = _pattern(
    r"""\bi(?:\s+(?:really|much|always|generally|usually|still|strongly|also|do|just|definitely|tend\ to))*
        \s+prefer\b
    | \bi(?:'d|\ would)\ (?:always|generally|usually)\ (?:prefer|rather)\b
    | \bmy\ (?:\w+\ )?(?:preference\ (?:is|for|of)|preferred)\b
    | \bi(?:'m|\ am)\ (?:severely\ |very\ |highly\ |a\ |strictly\ )*
        (?:allergic\ to|vegan|vegetarian|lactose|colou?r-?blind)
    | \bi\ (?:really\ )?(?:like|hate|love|appreciate)\ it\ when\ you\b
    | \bi\ (?:don't|do\ not|never|can't|cannot)
        \ (?:eat|drink|fly|take\ (?:calls|meetings)|work\ (?:on|before|after))\b"""
)
_NOT_OWN = _pattern(
    r"""^\W*(?:do|does|did|would|should|which|what|who|why|how|is|are|have|has|if)\b[^,]*$
    | \b(?:he|she|they|people|customers|users|my\ \w+)\ (?:says?|said|told|thinks?|always|never|prefers?)\b
    | \bused\ to\b"""
)
_HERE = _pattern(
    r"\b(?:in|for)\ this\ (?:chat|conversation|session|thread|task)\b | \bfor\ now\b | \btoday\b"
)
_COMMON = frozenset(
    terms("always never please prefer include use ask make sure when whenever show give like want")
)


def wishes_in(text: str) -> Iterator[str]:
    """Yield the sentences of a user's message that hold for later requests too."""
    if text.startswith(WISH):  # a note that a person keeps
        yield " ".join(text.removeprefix(WISH)[:_LONGEST].split())
        return
    for found in _SENTENCE.finditer(_PASTED.sub(" \n", text[:_READ])):
        sentence = found[0].strip(" -*\u2022\t")
        if is_wish(sentence):
            yield " ".join(sentence[:_LONGEST].split())


def is_wish(sentence: str) -> bool:
    """Whether a sentence is a standing instruction or a preference."""
    if _INSTRUCTION.match(sentence):
        return not sentence.rstrip().endswith("?")
    return _PREFERENCE.search(sentence) is not None and _NOT_OWN.search(sentence) is None


def is_of_conversation(wish: str) -> bool:
    """Whether a wish says that it is for one conversation; others hold for the scope."""
    return _HERE.search(wish) is not None


def is_replaced(older: str, newer: str) -> bool:
    """Whether a newer wish is about the same as an older one, and so takes its place."""
    one, other = (frozenset(terms(text)) - _COMMON for text in (older, newer))
    return bool(one and other) and 2 * len(one & other) >= max(len(one), len(other))
