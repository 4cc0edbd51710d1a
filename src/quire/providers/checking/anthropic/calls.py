"""Calls and results: who answers whom, where, and how often."""

from collections import Counter

from quire.providers.checking.anthropic.history import Block, Turn
from quire.providers.checking.faults import Findings
from quire.providers.checking.reading import short


class Pairing:
    """The calls of a conversation and what has answered them so far."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._ids: set[str] = set()
        self._open: list[tuple[str, str]] = []
        self._unanswered: dict[str, str] = {}

    def check(self, turns: list[Turn]) -> None:
        """Note calls without a result and results without a call."""
        for turn in turns:
            if turn.role == "assistant":
                self._leave_open()
                self._call(turn)
            elif turn.role == "user":
                self._answer(turn)
        self._leave_open()
        for call_id, place in self._unanswered.items():
            self._findings.add(place, "unanswered_call", f"call {short(call_id)} has no result")

    def _leave_open(self) -> None:
        self._unanswered.update(self._open)
        self._open = []

    def _call(self, turn: Turn) -> None:
        for block in turn.blocks():
            call_id = block.fields.get("id")
            if block.kind != "tool_use" or not isinstance(call_id, str):
                continue
            if call_id in self._ids:
                text = f"id {short(call_id)} is that of an earlier call"
                self._findings.add(f"{block.place}.id", "duplicate_call_id", text)
            self._ids.add(call_id)
            self._open.append((call_id, block.place))

    def _answer(self, turn: Turn) -> None:
        wanted = Counter(call_id for call_id, _ in self._open)
        given: Counter[str] = Counter()
        answers: list[Block] = []
        other, behind = False, False
        for block in turn.blocks():
            call_id = block.fields.get("tool_use_id")
            if block.kind != "tool_result" or not isinstance(call_id, str):
                other = True
            elif given[call_id] < wanted[call_id]:
                given[call_id] += 1
                answers.append(block)
                behind = self._check_first(block, other=other, noted=behind)
            else:
                self._refuse(block, call_id, again=call_id in given)
        self._open = [(call_id, place) for call_id, place in self._open if call_id not in given]
        self._leave_open()
        if not behind:
            self._check_split(answers)

    def _check_first(self, block: Block, *, other: bool, noted: bool) -> bool:
        if other and not noted:
            self._findings.add(block.place, "results_first", "something stands before this result")
        return other

    def _refuse(self, block: Block, call_id: str, *, again: bool) -> None:
        if again:
            self._findings.add(block.place, "duplicate_result", f"call {short(call_id)} has a result already")
        elif call_id in self._unanswered:
            text = f"call {short(call_id)} is at {self._unanswered.pop(call_id)}, not in the message before"
            self._findings.add(block.place, "late_result", text)
        else:
            text = f"there is no call {short(call_id)} in the message before"
            self._findings.add(block.place, "orphan_result", text)

    def _check_split(self, answers: list[Block]) -> None:
        apart = next((block for block in answers if block.message != answers[0].message), None)
        if apart is not None:
            text = f"the results of one turn are split over messages {answers[0].message} and {apart.message}"
            self._findings.add(apart.place, "results_split", text)
