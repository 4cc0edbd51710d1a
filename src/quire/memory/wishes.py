"""Standing instructions and preferences: which sentences of a user hold for later requests too.

"Always cite in APA" and "I prefer the quiet floor" share no words with the requests they apply to, so a
search does not find them. They are recognised by how they are put, in English, and only in the user's own
words: not in code, quotations or long pasted texts. What is asked for once ("Send it today") is not one.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

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

# Names in capitals stand for these parts in the rules below.
_PARTS = {
    "DIRECTIVE": "(?!(?:please |just )*let me know)(?:(?:please|always|never|only|just|no|NOT|you (?:should|must)) |DO\\b)",
    "DO": "(?:add|address|answer|apply|ask|assume|avoid|begin|book|bring|buy|call|check|choose|cite|commit|compare"
    "|confirm|convert|copy|count|create|delete|deploy|do|double-check|draft|drop|edit|end|explain|favou?r|find|fix|flag"
    "|follow|format|give|go|greet|highlight|ignore|include|indent|install|keep|leave|limit|list|log|maintain|make|mark"
    "|mention|name|offer|omit|open|order|pick|plan|post|prefer|prefix|prepare|print|propose|provide|publish|push|put|quote"
    "|recommend|record|refer|remind|remove|reply|report|respond|return|review|round|run|save|say|schedule|search|send"
    "|set|share|show|sign|skip|sort|speak|spell|split|start|state|stay|stick|stop|store|suggest|summari[sz]e|take|talk"
    "|tell|test|translate|treat|try|update|use|verify|wait|warn|wrap|write)",
    "MANNER": "(?:address|assume|avoid|capitali[sz]e|cite|convert|favou?r|format|indent|label|limit|mention|name|number"
    "|omit|prefer|prefix|refer|round|spell|stick|treat|use|show your|leave out)",
    "NOT": "(?:do not|don't|no need to|try not to|refrain from|stop(?= \\w+ing)|avoid|skip(?! to)"
    "|you (?:do not|don't) (?:need|have) to)",
    "GENERAL": "(?:from now on|from here on|from this point|going forward|in (?:the )?future|until further notice"
    "|as of (?:now|today)|starting (?:now|today)|for the rest of|at all times|under (?:no|any) circumstances"
    "|in general|generally|by default|as a (?:general )?rule|normally|(?:when|where)(?:ver)? (?:you can|possible)"
    "|as far as possible|when(?:so)?ever(?! you (?:are|can|get|have|like|need|want))|wherever|(?:every|each|any) ?time"
    "|(?:in|for) (?:all|each|every|your) (?:\\w+ )?OUTPUT|every OUTPUT)",
    "OUTPUT": "(?:answers?|repl(?:y|ies)|responses?|messages?|e?mails?|letters?|reports?|summar(?:y|ies)|drafts?"
    "|explanations?|suggestions?|documents?|notes?|chats?|tone|language|style|wording|sentences?|paragraphs?|prices?"
    "|amounts?|dates?|times?|units?|titles?|code|comments?)",
    "HABIT": "(?:book|buy|carry|choose|cook|do|drink|drive|eat|fly|follow|go for|keep|observe|order|pay|pick|read|shop"
    "|sit|smoke|stay|take|travel|use|wear|work|write)",
    "EACH": "(?:each|every|everything|everywhere|wherever|when (?:you|i'm)|instead of|rather than|like (?:an?|i'm)"
    r"|(?:under|over|within) \d+|at most|no more than|only(?=\W*$))",
    "HERE": "(?:it|this|that|these|those|him|her|them|yet|now|today|tonight|tomorrow|above|below|first|second|third|next"
    "|last)",
}


def _pattern(*rules: str, lead: str = "") -> "re.Pattern[str]":
    text = f"{lead}(?:{'|'.join(rules)})"
    for name, part in _PARTS.items():
        text = text.replace(name, part)
    return re.compile(text, re.IGNORECASE)


_LEAD = re.compile(
    r"(?:(?:please|kindly|also|and|but|so|oh|hey|hi|ok|okay|btw|by the way|just|for now|today"
    r"|in this (?:chat|conversation)|(?:note|remember|reminder)(?=[:,]))[,:]?\s+)*",
    re.IGNORECASE,
)
"""Words that may come before an instruction."""

_INSTRUCTION = _pattern(
    # Always and never, with what one does: "Always cite", "you should never share".
    r"(?:always|never)(?:,[^,]*,)? (?:ever )?(?!(?:mind|an?|the|too|so|on|in|at|there|here|again|once|been|had"
    r"|thought|wanted|knew|heard|saw|seen|good|nice|great|happy|better|more|enough|you|\w+ed)\b)\w",
    r"(?:you|i (?:want|need|expect|would like) you|i'd like you) (?:should|must|may|to) (?:always|never) (?!have\b)\w",
    r"(?:make sure|be sure|don't forget|remember) (?:to|you|that you) (?:always|never) \w",
    r"(?:can|could|would|will) you (?:mind )?(?:please )?(?:(?:always|never|stop) |\w+ (?:all|each|every) (?:\w+ )?OUTPUT)",
    # In general, or under a condition: "By default use", "If I write in French, answer in French".
    r"(?:GENERAL|(?:in|for|on|with) (?:all|each|every)|(?:each|every) \w+|(?:in|for|on) (?!example|instance)\w+(?=,))\b[^,]*?,? (?:DIRECTIVE"
    r"|(?:i'd like|i (?:only )?(?:like|want|need|expect|prefer)) |[\w ]+ only\W*$)",
    r"(?:only |no |NOT )?DO\b.*\b(?:GENERAL|any ?more|unless|without (?:asking|my))\b",
    r"(?:if|when|before|once|unless|while|whichever|whatever) (?!(?:you (?:can|finish|get|have|are (?!not)|'re)|i forget)\b)"
    r"(?![^,]*\b(?:HERE|the)\b)[^,?]*, (?:then )?DIRECTIVE",
    r"DO\b(?!.*\bHERE\b).*\b(?:before (?:you|\w+ing)|EACH)\b",
    # A reason, and what follows from it: "I work nights, so don't book anything before noon".
    r"(?:i|i'm|my|we|we're|our)\b[^,?]{1,80}, so (?:please )?(?!help|tell|find|do\b)DIRECTIVE",
    # How to do things, where nothing at hand is pointed to: "Don't use semicolons", "Cite your sources".
    r"(?:do not|don't) ever \w",
    r"NOT (?!(?:you|know|think|worry|forget|give up|hesitate|let|get|be|feel|ask me (?:how|why))\b)\w(?!.*\bHERE\b)",
    r"(?:drop|spare me|you can skip) (?:the )?\w+s\b(?!.*\bHERE\b)|(?:less|more) \w+,? please\b|you(?:'re| are) not allowed to\b",
    r"MANNER\b(?!.*\b(?:HERE|my|our)\b)(?: [\w-]+){1,6}\W*$",
    r"(?:only DO|stick to|let's (?:always|never|stick (?:to|with)))\b(?!.*\bHERE\b)",
    r"(?:no|nothing) (?!(?:thanks|more|need|problem|idea|luck|doubt)\b)(?!.*\b(?:is|are|was|were|has|had|left)\b)"
    r"(?:\w+ ){0,2}(?:\w+,? please|in|on|at|before|after|for me|with|over|under|from)\b",
    # How to answer.
    r"(?:answer|reply|respond|speak|talk|write) (?:to me )?(?:only )?in (?!the (?!first|second|third))\w",
    r"(?:be|stay) \w+ with me\b|(?:call|address|treat) me (?!an?\b|when|back|later|at\b|if\b|on\b|HERE\b)\w",
    r"(?:(?:can|could|would) you )?(?:keep|make) (?:(?:your|all|every|my|the)(?!.*\bHERE\b) (?:\w+ )?OUTPUT"
    r"|(?:it|things|them) (?:short|brief|simple|concise|casual|formal|polite|under))\b",
    r"(?:[\w-]+ ){1,2}only(?:, please)?\W*$|(?:\w+ ){0,2}OUTPUT in \w+,? please\b",
    r"make sure (?:that )?(?:all|any|each|every|no)\b",
    r"(?:(?:all|any|each|every) (?:\w+ )*|(?:\w+ )?)OUTPUT (?:should|must|needs?|ha(?:s|ve) to|in \w+, please)\b",
    r"(?:anything|everything)\b.* (?:should|must|needs?)\b",
    r"i (?:want|need|expect|would like) (?:all|each|every) (?:\w+ )*?OUTPUT\b",
    r"i(?: want|'d like| would like) you to (?!.*\b(?:HERE|an?|the|help)\b)\w",
    # What one says of oneself.
    r"my (?:usual|go-to) .* is\b|i go by \w",
    r"(?:i|we) (?:(?:always|never|only|usually|normally|generally|tend to|do not|don't) HABIT|can't (?:eat|drink|drive|fly)"
    r"|cannot (?:eat|drink|drive|fly))\b(?!.*\bHERE\b)|we (?:eat|follow|keep|observe|use)\b(?!.*\bHERE\b)",
    r"(?!(?:it|this|that|he|she|they|we|you|i|there|what|who)\b)(?:\w+ ){1,2}(?:must|should) (?:be|have)\b(?!.*\bHERE\b)",
    r"i (?:like|need|prefer|want)\b(?!.*\bHERE\b).*\b(?:everywhere|wherever|each|every time)\b",
    r"(?:remember|(?:keep|bear) in mind|note|fyi|for your information)[,:]? (?:that )?(?:i|we|my|our)\b"
    r"(?! (?:was|were|had|did|\w+ed)\b)",
)
_PREFERENCE = _pattern(
    r"(?:i|we) (?:(?:really|much|always|generally|usually|still|strongly|also|do|just|definitely|tend to) )*"
    r"(?:prefer|favou?r)\b(?! not)",
    r"i(?:'d| would) (?:always |generally |usually )(?:prefer|rather)\b|i'd (?:much |far )?rather\b.*\bthan\b",
    r"i'd (?:rather|prefer it if|appreciate it if|like it if) you (?!could|can|would)",
    r"my (?:\w+ )?(?:preference(?::| (?:is|for|of)\b)|preferred\b|pronouns are\b)",
    r"(?:i'm|i am|we're|we are|my \w+ (?:is|are)) (?:severely |very |highly |an? |strictly )*(?:allergic to|vegan|vegetarian|lactose|co?eliac"
    r"|diabetic|dyslexic|deaf|left-handed|colou?r[- ]?blind|not a fan of|on a \w+ diet)\b",
    r"i (?:really )?(?:do not |don't )?(?:like|hate|love|appreciate) it when\b",
    r"i(?:'d like| (?:really )?(?:do not |don't )?(?:like|hate|love|want)) (?!an?\b|the\b|to\b|HERE\b|\w+ing\b)"
    r"(?:[\w-]+ ){0,2}OUTPUT\b",
    r"i (?:do not|don't) want (?:you to|to (?:be|get|hear|receive|see))\b",
    r"i(?:'m trying| try| like) to (?:keep|avoid)\b",
    r"i (?:can't|cannot) stand\b(?! up)|i refuse to (?!believe)",
    r"i find (?:\w+ ){1,4}(?:annoying|distracting|confusing|irritating|hard)\b|it (?:bugs|annoys|bothers) me\b",
    r"i(?:'m)? (?:\w+ )?(?:best|better|happiest) (?:with|in|when|by)\b|works? (?:best|better) for me\b",
    r"i (?:don't|do not|never) (?:eat|drink|drive|fly|take (?:\w+ )?(?:calls|meetings)|work (?:on|before|after))\b",
    r"i (?:don't|do not) need (?:\w+ )?OUTPUT\b",
    lead=r"\b(?=[imw])",
)
_NOT_OWN = _pattern(
    r"^\W*(?:do|does|did|would|should|which|what|who|why|how|is|are|have|has|if)\b[^,]*$",
    r"\b(?:he|she|they|people|customers|users|my \w+) (?:says?|said|told|thinks?|always|never|prefers?)\b",
    r"\b(?:used to|today|tonight|tomorrow|this (?:time|week))\b",
)
_REQUEST = _pattern(r"(?:can|could|would|will) you\b")
_FORBIDS = _pattern(r"\b(?:never|not|no|stop|avoid|without|allergic|hate|refuse|cannot)\b|n't\b")
_HERE = _pattern(r"\b(?:in|for) this (?:chat|conversation|session|thread|task)\b|\bfor now\b|\btoday\b")
_CLAUSE_END = _pattern(r"[;:]? (?:- )?(?:so|but|and i|can you|could you|how|what|considering|given)\b", r"[;?]")
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
    leaf: Leaf
    clause: str
    """The part of the text that says it: "I prefer trains" of "I prefer trains, so can you book one?"."""

    @property
    def is_of_conversation(self) -> bool:
        """Whether it says that it is for one conversation; others hold for the scope."""
        return _HERE.search(self.text) is not None

    @property
    def is_in_passing(self) -> bool:
        """Whether its sentence begins with something else."""
        return not self.text.startswith(self.clause)


def wishes_of(leaves: Iterable[Leaf], conversation: str | None = None) -> list[Wish]:
    """Return the wishes of leaves, the newest leaf first, but those in sentences of their own before others.

    Of two about the same, the newer holds. One that is said again stays as it was first said.
    """
    held, bags = list[Wish](), list[frozenset[str]]()
    by_term = defaultdict[str, list[int]](list)
    for leaf in leaves:
        for sentence, clause in reversed([*wishes_in(leaf.text)]):
            wish = Wish(sentence, leaf, clause)
            if wish.is_of_conversation and conversation not in (None, leaf.source):
                continue
            bag = frozenset(terms(clause)) - _COMMON
            near = dict.fromkeys(nth for term in bag for nth in by_term[term])
            same = (nth for nth in near if _is_replaced(clause, bag, held[nth].clause, bags[nth]))
            newer = next(same, None)
            if newer is None:
                for term in bag:
                    by_term[term].append(len(held))
                held.append(wish)
                bags.append(bag)
            elif bag == bags[newer] and _forbids(clause) == _forbids(held[newer].clause):
                held[newer] = wish
    return sorted(held, key=lambda wish: wish.is_in_passing)


def _is_replaced(older: str, bag: frozenset[str], newer: str, other: frozenset[str]) -> bool:
    """Whether a newer wish takes the place of an older one: it differs in a word or so.

    What is forbidden or not borne adds up: of two such both hold.
    """
    most = 0 if _forbids(older) and _forbids(newer) else max(1, len(bag) // 4)
    return max(len(bag - other), len(other - bag)) <= most


def _forbids(clause: str) -> bool:
    return _FORBIDS.search(clause) is not None


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
        is_wish, start = not plain.endswith("?") or _REQUEST.match(plain, start), 0
    elif preferences := [*_PREFERENCE.finditer(plain)]:
        last = preferences[-1]
        is_wish, start = not _NOT_OWN.search(plain), preferences[0].start()
    else:
        return None
    if not is_wish:
        return None
    end = _CLAUSE_END.search(plain, last.end())
    clause = sentence[start : end.start() if end else None].rstrip(" ,")[:_LONGEST]
    return Phrase(sentence if len(sentence) <= _LONGEST else clause, clause)
