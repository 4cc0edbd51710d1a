"""A model that reads the catalogue and names the notes it wants."""

import json
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, cast

from quire.errors import WrongType
from quire.items import Message
from quire.sections.section import Ask
from quire.sections.waiting import awaited, function
from quire.tokens import whole

_PROMPT = """\
These notes are at hand, each with its key in brackets:

{catalogue}

What is to be answered:

{input}

Which of the notes are needed for that? Answer with their keys, one on a line, and nothing else. \
Answer none if no note is needed."""

_LONGEST_INPUT = 4_000
_BRACKETS = re.compile(r"\[([^\[\]]+)\]")
_NUMBER = re.compile(r"^\s*\d+[.)]\s+")
_BEFORE_REASONS = re.compile(r":\s|\s[-–—]\s|\s\(")  # noqa: RUF001  # models write all of these
_AROUND = " \t-*•.,;:\"'`[]()<>"


def choosing(
    ask_model: Callable[[str], Awaitable[str] | str], limit: int | None = None
) -> Callable[[str, Ask], Awaitable[list[str]]]:
    """A selector for `Pooled`: `ask_model` gives a model a text and brings its answer back.

    Of what the model names, the first `limit` are taken.
    """
    function(ask_model, "who asks the model")
    most = None if limit is None else whole(limit, "a limit of notes", least=1)

    async def select(catalogue: str, ask: Ask) -> list[str]:
        answer = await awaited(ask_model(_prompt(catalogue, ask)))
        return keys_in(answer, [note.key for note in ask.pool if note.key])[:most]

    return select


def keys_in(answer: str, keys: Iterable[str]) -> list[str]:
    """The keys that an answer names, in its order.

    Lines, brackets and JSON are believed. Only where there are none of these are keys looked for in prose,
    where a short one may be just a word.
    """
    if not isinstance(answer, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a model answers with a text, not {type(answer).__name__}")
    shown = {_on_one_line(key): key for key in keys}
    folded = {name.casefold(): key for name, key in shown.items()}
    named = [shown.get(name, folded.get(name.casefold())) for name in _candidates(answer)]
    return list(dict.fromkeys(filter(None, named))) or _in_prose(answer, shown)


def _prompt(catalogue: str, ask: Ask) -> str:
    words = ask.input.text if isinstance(ask.input, Message) else ""
    # One after the other: what one of them says is not to be taken for a place to fill in.
    before, _, rest = _PROMPT.partition("{catalogue}")
    middle, _, after = rest.partition("{input}")
    return f"{before}{catalogue}{middle}{words[:_LONGEST_INPUT] or '(not known)'}{after}"


def _candidates(answer: str) -> list[str]:
    """What may be keys by the way they stand in an answer."""
    found = [_on_one_line(name) for name in _from_json(answer)]
    if found:
        return found
    for line in answer.splitlines():
        found.append(_on_one_line(line))
        pieces = [*_BRACKETS.findall(line), line, *re.split("[,;]", line)]
        pieces += [_NUMBER.sub("", line), _BEFORE_REASONS.split(_NUMBER.sub("", line))[0]]
        found += [_on_one_line(piece).strip(_AROUND) for piece in pieces]
    return found


def _from_json(answer: str) -> list[str]:
    first, last = answer.find("["), answer.rfind("]")
    try:
        read: Any = json.loads(answer[first : last + 1]) if 0 <= first < last else None
    except (ValueError, RecursionError):
        return []
    several = cast("list[object]", read) if isinstance(read, list) else []
    return [one for one in several if isinstance(one, str)]


def _in_prose(answer: str, shown: dict[str, str]) -> list[str]:
    """Keys that stand in a text as words, a longer one before a shorter one that is part of it."""
    names = sorted(filter(None, shown), key=len, reverse=True)
    if not names:
        return []
    pattern = "|".join(map(re.escape, names))
    found = re.findall(rf"(?<![\w-])(?:{pattern})(?![\w-])", answer)
    return list(dict.fromkeys(shown[name] for name in found))


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
