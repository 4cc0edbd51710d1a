"""Rules: what the user has told an agent to do and not to do in a conversation stays in its requests.

A summary may lose a prohibition, and a cut leaves out the message that it is in. So rules are never left to
either: those that are not in view any more are shown beside what is. Instructions of the system are always
shown as they are.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple, Unpack

from quire.items import Item, Message
from quire.memory.following import RECALL
from quire.memory.quotes import BAR, PART, Quote, Quotes, quote_line
from quire.memory.wishes import wishes_in
from quire.sections import Ask, Options, Settings
from quire.state import View, keep_memo, memos
from quire.tokens import named, whole

_TOKENS = 400
_OPENING = "What the user has said in this conversation and still holds; of two that differ, the last:"

_READ, _LONGEST = 8_000, 400
"""Characters of a message that are read, and of a rule that are shown."""

_MOST = 1_000
"""So many messages of the user are read, the newest."""

_SENTENCE = re.compile(r"\S.*?(?:[.!?]+(?=\s|$)|$)", re.MULTILINE)
_PASTED = re.compile(r"```.*?(?:```|\Z)|^\s*>.*?$", re.DOTALL | re.MULTILINE)
_FORBIDS = re.compile(
    r"""^(?:(?:please|also|and|but|so|ok(?:ay)?|note|important|remember|again|one\ more\ thing|by\ the\ way
        |rule(?:\ \w+)?|(?:after|as|at|before|during|for|if|in|on|unless|until|what|when|where|while)\w*
        \ [^,:]{1,80}(?=[,:]))[,:]?\s+)*
    (?: (?:don['\u2019]?t|do\ not)\ (?!worry|mind|know|hesitate|you\b|forget\b|think\b|i\b)\w
      | never\ (?!mind)\w | no\ (?!thanks|problem|worries|need|idea|,)\w+ | nothing\ \w+ | nobody\ \w+
      | under\ no\ circumstances | (?:you|we|it|they|nobody|the\ \w+|\w+s)\ (?:must|may|can|shall|should|are)
            \ ?(?:not|n['\u2019]t|only|never)\b | you\ (?:mustn|shouldn|can)['\u2019]t
      | (?:avoid|stop)\ \w | keep\ (?:away|out|off|your\ hands)\b | stay\ (?:away|out|off)\b | hands\ off\b
      | leave\ .*\b(?:alone|as\ (?:it|they)|untouched)\b | ask\ (?:me\ )?(?:first|before)\b | only\ \w
      | (?:.*\ )?(?:is|are)\ (?:off[ -]limits|forbidden|not\ allowed|taboo|read-only)\b )""",
    re.VERBOSE | re.IGNORECASE,
)
"""How a sentence begins that forbids something: within its conversation it holds until it is taken back."""


class _Rule(NamedTuple):
    """A sentence, the message that it is from, and its number in that."""

    text: str
    message: Message
    number: int


class _Known(NamedTuple):
    """The rules of a transcript up to a position."""

    end: int
    rules: tuple[_Rule, ...]


class Rules(Settings):
    """The section of what the user said in this conversation that holds on and is not in view any more.

    Prohibitions, standing instructions and preferences are quoted as they were said, the newest first if they
    do not all fit. It shows nothing while the history shows the messages that they are in.
    """

    def __init__(
        self,
        transcript: str = "main",
        *,
        tokens: int = _TOKENS,
        name: str = "rules",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(name, **(Options(required=False, stability="slow") | options))
        self._transcript = named(transcript, "the name of a transcript")
        self._tokens = whole(tokens, "tokens for rules", least=1)

    async def items(self, ask: Ask) -> Quotes | tuple[Item, ...]:
        """Return the rules; which are shown is decided when it is known what the history shows."""
        view = ask.view(self._transcript)
        said = {rule.text.casefold(): rule for rule in _rules_in(view)}  # said again, it is shown once
        rules = [rule for rule in reversed(said.values()) if _holds(view, rule.message)]
        if not rules:
            return ()
        quotes = [_quote(rule, ask.conversation) for rule in rules]
        return Quotes(quotes, name=self.name, opening=_OPENING, closing="", tokens=self._tokens)


def _rules_in(view: View) -> tuple[_Rule, ...]:
    """Return the rules of all messages of the user; each message is read once."""
    known = memos(view).get(Rules)
    if not isinstance(known, _Known) or known.end > view.end:
        known = _Known(0, ())
    positions = view.log.positions("users", known.end, view.end)[-_MOST:]
    messages = (view.log.item(position) for position in positions)
    new = [rule for one in messages if isinstance(one, Message) for rule in _rules_of(one)]
    if known.end < view.end:
        known = _Known(view.end, (*known.rules, *new))
        keep_memo(view, Rules, known)
    return known.rules


def _rules_of(message: Message) -> Iterator[_Rule]:
    wishes = set(wishes_in(message.text))
    text = _PASTED.sub("\n", message.text[:_READ])
    for number, found in enumerate(_SENTENCE.finditer(text)):
        sentence = " ".join(found[0].strip(" -*\u2022\t").split())
        is_rule = sentence in wishes or (_FORBIDS.match(sentence) and not sentence.endswith("?"))
        if is_rule:
            yield _Rule(sentence[:_LONGEST], message, number)


def _holds(view: View, message: Message) -> bool:
    """Whether a message was not taken back by a person: what a compactor hides still holds."""
    fate = view.fate(message.id)
    is_hidden = fate.state == "hidden" and fate.by is not None
    return not (is_hidden and view.get(str(fate.by)).extras.get(RECALL) is False)


def _quote(rule: _Rule, conversation: str) -> Quote:
    return Quote(
        id=f"{PART}{rule.message.id}/{rule.number}",
        line=quote_line(BAR, rule.text),
        heading="",
        at=rule.message.created_at,
        order=rule.number,
        covers=(rule.message.id,),
        why=lambda: "the user said that it holds",
        source=conversation,
        text=rule.message.text,
    )
