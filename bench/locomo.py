"""Conversations in the format of LoCoMo: turns as items, questions with the turns that answer them."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from msgspec.structs import replace

from quire.items import Message
from quire.memory import Leaf
from quire.memory.following import TranscriptLeaves

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_SESSION = re.compile(r"session_(\d+)")
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
_A_TURN_TAKES = 20.0
_STRETCH = 20
_BETWEEN_STRETCHES = 43_200.0


@dataclass(frozen=True)
class Asked:
    """A question, of which category, and the keys of the turns that hold its answer."""

    text: str
    category: str
    gold: frozenset[str]


@dataclass(frozen=True)
class Conversation:
    """Turns as leaves, the date line of each, when it is asked about, and the questions."""

    name: str
    messages: list[Message]
    leaves: list[Leaf]
    headings: dict[str, str]
    now: float
    questions: list[Asked]


def conversations(path: Path) -> list[Conversation]:
    """Those of a file, each as the library holds it."""
    return [_conversation(one) for one in json.loads(path.read_text(encoding="utf-8"))]


def _conversation(one: dict[str, Any]) -> Conversation:
    messages: list[Message] = []
    headings: dict[str, str] = {}
    for key, date, turns in _sessions(one["conversation"]):
        begun = datetime.strptime(date.strip(), "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC).timestamp()
        for nth, turn in enumerate(turns):
            at = begun + nth * _A_TURN_TAKES
            own_id = f"D{key}:{_number(turn['dia_id'])}"
            messages.append(Message("user", _said(turn), id=own_id, agent_id=turn["speaker"], created_at=at))
            headings[own_id] = f"[{date}]"
    changes = TranscriptLeaves(one["sample_id"], "main").take(messages)
    leaves = changes.leaves if changes is not None else []
    now = messages[-1].created_at + 1.0
    return Conversation(one["sample_id"], messages, leaves, headings, now, list(_asked(one["qa"], headings)))


def _sessions(conversation: dict[str, Any]) -> Iterator[tuple[int, str, list[dict[str, Any]]]]:
    for number in sorted(int(found[1]) for key in conversation if (found := _SESSION.fullmatch(key))):
        yield number, conversation[f"session_{number}_date_time"], conversation[f"session_{number}"]


def _number(turn_id: str) -> int:
    return int(turn_id.rpartition(":")[2])


def _said(turn: dict[str, Any]) -> str:
    """What was said, with what is on a picture that was shown, as its caption has it."""
    caption = turn.get("blip_caption")
    return f"{turn['text']} [shares {caption}]" if caption else str(turn["text"])


def _asked(questions: list[dict[str, Any]], turns: dict[str, str]) -> Iterator[Asked]:
    """Questions with an answer in the turns; some ids are written in other ways."""
    for question in questions:
        ids = (f"D{int(a)}:{int(b)}" for one in question["evidence"] for a, b in _EVIDENCE.findall(one))
        gold = frozenset(ids) & turns.keys()
        if gold:
            yield Asked(question["question"], CATEGORIES[question["category"]], gold)


def made_up(found: Sequence[Conversation], count: int, seed: int = 7) -> list[Leaf]:
    """A long history: so many leaves, each the first half of one turn and the second half of another."""
    chance = Random(seed)
    turns = [leaf for one in found for leaf in one.leaves]
    begun = turns[0].at
    return [_mixed(nth, chance.choice(turns), chance.choice(turns), begun) for nth in range(count)]


def _mixed(nth: int, one: Leaf, other: Leaf, begun: float) -> Leaf:
    first, second = one.text.split(), other.text.split()
    text = " ".join(first[: len(first) // 2 + 1] + second[len(second) // 2 :])
    stretch = nth // _STRETCH
    at = begun + stretch * _BETWEEN_STRETCHES + nth * _A_TURN_TAKES
    key = f"t{nth}"
    return replace(one, source="made up", key=key, order=nth, stretch=stretch, ids=(key,), at=at, text=text)
