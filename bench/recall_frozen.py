"""What recall finds first, kept without text so that another version can be compared with it."""

import json
import lzma
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from locomo import Conversation
from quire.context import Template
from quire.items import Message, use_clock
from quire.memory import Recall
from quire.session import Session
from quire.stores import MemoryStore
from quire.tokens import Budget
from recall_methods import quire
from recall_scores import rows

FIRST = 20
_CUTS = (1, 5, FIRST)

Found = dict[str, Any]
"""Budgets, and by conversation what is found for each question: ids, scores, and ER by budget."""


def first_found(conversations: Sequence[Conversation], budgets: Sequence[int]) -> Found:
    """The first turns for each question, and how much of its evidence is told within each budget."""
    found: Found = {"budgets": list(budgets), "conversations": {}}
    for one in conversations:
        ranking = quire()(one)
        told = rows(one, ranking, budgets)
        found["conversations"][one.name] = [
            {
                "ids": [quote.id for quote in best],
                "scores": [round(quote.score, 4) for quote in best],
                "told": [round(share, 4) for share in row.told],
            }
            for best, row in (
                (ranking(asked.text)[:FIRST], row) for asked, row in zip(one.questions, told, strict=True)
            )
        ]
    return found


def written(path: Path, found: Found) -> str:
    """Write it as compressed JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(json.dumps(found, separators=(",", ":")).encode(), preset=9))
    return f"{len(_questions(found))} questions in {path}, {path.stat().st_size:,} bytes"


def read(path: Path) -> Found:
    """What was written."""
    found: Found = json.loads(lzma.decompress(path.read_bytes()))
    return found


def compared(before: Found, now: Found) -> str:
    """How many questions have the same first turns, and how ER changed."""
    pairs = list(zip(_questions(before), _questions(now), strict=True))
    lines = [f"{len(pairs)} questions"]
    for cut in _CUTS:
        same = sum(one["ids"][:cut] == other["ids"][:cut] for one, other in pairs)
        also = sum(set(one["ids"][:cut]) == set(other["ids"][:cut]) for one, other in pairs)
        lines.append(f"same first {cut}: {same}, in any order {also}")
    scores = sum(one["scores"] == other["scores"] for one, other in pairs)
    lines.append(f"same scores of the first {FIRST}: {scores}")
    for nth, budget in enumerate(before["budgets"]):
        was, is_ = (
            100 * sum(one["told"][nth] for one in side) / len(pairs) for side in zip(*pairs, strict=True)
        )
        lines.append(f"ER@{budget}: {was:.2f} → {is_:.2f} ({is_ - was:+.2f})")
    return "\n".join(lines)


def surfaced(conversations: Sequence[Conversation], prompts: Sequence[str]) -> str:
    """How often the section for recall, as it is by default, brings something back for a prompt."""
    template = Template(Recall(), budget=Budget(window=16_000))
    lines, total = list[str](), 0
    for one in conversations:
        session = Session.open(scope="bench", conversation=one.name, store=MemoryStore())
        session.append(*one.messages)
        with use_clock(partial(float, one.now)):
            told = [session.build(template, input=Message("user", text)).items for text in prompts]
        count = sum(map(bool, told))
        total += count
        lines.append(f"{one.name}: {count} of {len(prompts)} prompts, {100 * count / len(prompts):.1f} %")
    pairs = len(conversations) * len(prompts)
    return "\n".join([*lines, f"false-surface rate: {total} of {pairs}, {100 * total / pairs:.1f} %"])


def _questions(found: Found) -> list[Any]:
    return [one for questions in found["conversations"].values() for one in questions]
