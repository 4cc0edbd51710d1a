"""Calls and responses: where they stand, how many there are, and which belong together."""

from collections import Counter

from quire.providers.checking.faults import Findings
from quire.providers.checking.gemini.history import Content, Part
from quire.providers.checking.reading import as_object, short


class Pairing:
    """The calls that wait for responses while a conversation is read, after what is cached of it, if any."""

    def __init__(self, findings: Findings, *, after_cache: bool = False) -> None:
        self._findings = findings
        self._unseen = after_cache
        self._calls: list[Part] = []
        self._place = ""
        self._late = False

    def check(self, contents: list[Content]) -> None:
        """Note calls and responses that do not meet."""
        start = 0
        while start < len(contents):
            content, end = contents[start], start + 1
            if content.calls:
                self._call(content, contents[start - 1] if start else None)
            elif content.responses:
                while end < len(contents) and contents[end].responses and not contents[end].calls:
                    end += 1
                self._answer(contents[start:end])
            elif self._calls:
                self._late = True
            start, self._unseen = end, False
        self._leave_open()

    def _leave_open(self) -> None:
        if self._calls:
            text = f"{len(self._calls)} calls and no response"
            self._findings.add(self._place, "unanswered_call", text)
        self._calls, self._late = [], False

    def _call(self, content: Content, before: Content | None) -> None:
        split = before is not None and before.calls and not self._late
        if not self._unseen and (before is None or before.role == "model"):
            where = "comes first" if before is None else "follows another content of the model"
            self._findings.add(content.place, "call_place", f"the content with calls {where}")
        if not split:
            self._leave_open()
            self._place = content.place
        # Calls of one turn that were split over contents are answered together.
        self._calls.extend(content.calls)

    def _answer(self, run: list[Content]) -> None:
        place, responses = run[0].place, [part for content in run for part in content.responses]
        if self._unseen:
            return
        if not self._calls:
            self._findings.add(
                place, "orphan_response", f"{len(responses)} responses and no calls before them"
            )
        elif self._late:
            text = f"the calls at {self._place} are not just before"
            self._findings.add(place, "late_response", text)
        elif len(responses) != len(self._calls):
            text = f"{len(responses)} responses to {len(self._calls)} calls"
            self._findings.add(place, "response_count", text)
        else:
            self._check_run(run, responses)
        self._calls, self._late = [], False

    def _check_run(self, run: list[Content], responses: list[Part]) -> None:
        if len(run) > 1:
            text = f"{len(responses)} responses are split over {len(run)} contents"
            self._findings.add(run[1].place, "responses_split", text)
        called = Counter(map(_name, self._calls))
        for part in responses:
            name = _name(part)
            called[name] -= 1
            if called[name] < 0:
                text = f"{short(name)} was not called, or not so often"
                self._findings.add(part.place, "response_name", text)


def _name(part: Part) -> str | None:
    name = (as_object(part.value) or {}).get("name")
    return name if isinstance(name, str) else None


def check_signatures(findings: Findings, contents: list[Content]) -> None:
    """Note calls without a thought signature, for models that want them, since the user spoke."""
    before: list[Part] = []
    for content in _since_user(contents):
        calls = content.calls
        # A step that was split over contents is noted for that.
        if calls and not before and not calls[0].signed:
            findings.add(calls[0].place, "thought_signature", f"call of {short(_name(calls[0]))} has none")
        before = calls


def check_words_signed(findings: Findings, contents: list[Content]) -> None:
    """Note what the model said and drew without a thought signature, for models that want it there."""
    for content in contents:
        said = [part for part in content.parts if content.role == "model" and not part.thought]
        for place, part in enumerate(said):
            wanted = part.kind == "inlineData" or (part.kind == "text" and place == 0)
            if wanted and not part.signed:
                kind = "image" if part.kind == "inlineData" else "first text"
                findings.add(part.place, "words_signature", f"the {kind} of the model's content has none")


def _since_user(contents: list[Content]) -> list[Content]:
    for index in range(len(contents) - 1, -1, -1):
        content = contents[index]
        if content.role == "user" and len(content.responses) < len(content.parts):
            return contents[index + 1 :]
    return contents


def check_alone(findings: Findings, contents: list[Content], *, ends_with_user: bool) -> None:
    """Note what stands beside responses; some models take what follows them for the model's."""
    for content in contents:
        other = next((part for part in content.parts if part.kind != "functionResponse"), None)
        if not content.responses or other is None:
            continue
        if ends_with_user and content.parts[-1].kind != "functionResponse":
            findings.add(content.parts[-1].place, "text_after_responses", "it follows responses")
        else:
            findings.add(other.place, "responses_mixed", "it stands beside responses")
