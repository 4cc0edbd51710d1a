"""The laws of a provider: a rendered payload is valid, deterministic, and reports every loss."""

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, ClassVar

import msgspec
import pytest
from hypothesis import given, strategies as st

from quire.errors import Downgraded
from quire.items import JSON, Image, Item, Message, Reasoning, ToolCall, ToolResult, escape
from quire.providers import HARMLESS, CachePlan, Parsed, Provider, pack
from quire.state import Transcript, View, memos
from quire.testing.conversations import MODELS, PNG, STEPS, TOOLS, TOOLSETS, Step, Talk, view_after
from quire.testing.examples import examples

PLANS = (None, CachePlan(), CachePlan(static=1, slow=3, key="k"), CachePlan(slow=0, keep="long"))
_TURNS = st.lists(
    st.tuples(st.sampled_from(["text", "calls", "both", "media"]), st.integers(1, 3)), min_size=1, max_size=8
)
_encode = msgspec.json.Encoder().encode


@contextmanager
def _without_memos(view: View) -> Generator[None]:
    """Run the block without memory of earlier renderings."""
    saved = memos(view).copy()
    memos(view).clear()
    yield
    memos(view).clear()
    memos(view).update(saved)


def check_rendering(
    provider: Provider, view: View, model: str | None, tools: Sequence[dict[str, Any]], plan: CachePlan | None
) -> None:
    """Check that a payload is JSON, and that the provider's own check finds no fault."""
    rendered = provider.render(view, model=model, tools=tools, plan=plan)
    assert provider.check(rendered.payload, model) == [], "check() finds a fault in a rendered payload"
    _encode(rendered.payload)


def _reply(kind: str, count: int, number: int) -> list[Item]:
    messages: list[Item] = [] if kind == "calls" else [Message("assistant", f"answer {number}")]
    if kind in ("text", "media"):
        return messages
    calls: list[Item] = [ToolCall(f"c{number}_{n}", "look_up", "{}") for n in range(count)]
    results: list[Item] = [ToolResult(f"c{number}_{n}", "look_up", "found") for n in range(count)]
    return [*messages, *calls, *results, Message("assistant", "there")]


def plain(items: Sequence[Item]) -> list[dict[str, Any]]:
    """Items without ids and times."""
    written: list[dict[str, Any]] = json.loads(JSON.encode(items))
    return [
        {name: item[name] for name in item if name not in ("id", "created_at", "reply_id")}
        for item in written
    ]


def _calls_in(parsed: Parsed) -> set[tuple[str, str]]:
    return {(item.name, item.arguments) for item in parsed.items if isinstance(item, ToolCall)}


def _text_of(parsed: Parsed) -> str:
    return "".join(item.text for item in parsed.items if isinstance(item, Message))


def _outline(items: Sequence[Item]) -> list[tuple[str, str]]:
    """The roles, calls and results of items with their texts, without ids and thoughts."""
    lines: list[tuple[str, str]] = []
    for item in items:
        if isinstance(item, Message):
            lines.append((item.role, item.text))
        elif isinstance(item, ToolCall):
            lines.append((f"call of {item.name}", item.arguments))
        elif isinstance(item, ToolResult):
            lines.append((f"result of {item.name}", item.text))
    return lines


class ProviderLaws:
    """The laws of a provider. A subclass sets `provider`, and pytest runs them."""

    provider: ClassVar[Provider]
    """The provider to test."""

    models: ClassVar[Sequence[str | None]] = (None,)
    """Names of models to render for; None applies the rules of the provider alone. Each example draws one."""

    history: ClassVar[str] = "messages"
    """The field of a payload that holds the conversation."""

    replies: ClassVar[Sequence[Any]] = ()
    """Responses of the service, as JSON, that `parse` reads: at least one with text and one with a call."""

    streams: ClassVar[Sequence[tuple[Sequence[Any], Any]]] = ()
    """Streamed responses: the events of each, and the same response as a whole."""

    def draw(self, data: st.DataObject) -> str | None:
        """One of the models."""
        return data.draw(st.sampled_from(self.models), "model")

    def drawn_streams(self) -> st.SearchStrategy[tuple[Sequence[Any], Any]]:
        """One of the streams."""
        assert self.streams, f"set {type(self).__name__}.streams"
        return st.sampled_from(self.streams)

    @examples(2)
    @given(st.data(), STEPS, st.sampled_from(PLANS), st.sampled_from(TOOLSETS))
    def test_its_check_finds_no_fault_in_what_it_renders(
        self, data: st.DataObject, steps: list[Step], plan: CachePlan | None, tools: list[dict[str, Any]]
    ) -> None:
        check_rendering(self.provider, view_after(steps), self.draw(data), tools, plan)

    @examples(2)
    @given(st.data(), STEPS, st.sampled_from(PLANS))
    def test_rendering_is_deterministic(
        self, data: st.DataObject, steps: list[Step], plan: CachePlan | None
    ) -> None:
        """The order of the tools does not matter."""
        model, view = self.draw(data), view_after(steps)
        first = self.provider.render(view, model=model, tools=TOOLS, plan=plan)
        with _without_memos(view):
            second = self.provider.render(view, model=model, tools=TOOLS[::-1], plan=plan)
        assert _encode(first.payload) == _encode(second.payload), "the same items are rendered in two ways"
        notes = [(rendered.downgrades, rendered.prefix) for rendered in (first, second)]
        assert notes[0] == notes[1], "the same items have other downgrades or another prefix"

    @examples(2)
    @given(st.data(), STEPS, STEPS, st.booleans())
    def test_a_continued_rendering_equals_a_fresh_one_and_payloads_never_change(
        self, data: st.DataObject, steps: list[Step], more: list[Step], has_volatile: bool
    ) -> None:
        model, talk = self.draw(data), Talk()
        talk.play(steps)
        payloads: list[tuple[Any, Any]] = []
        for step in more:
            talk.play([step])
            # The tools change now and then: most steps have the first set, few the second, fewer the third.
            view, tools = talk.transcript.view, TOOLSETS[1 + (step[1] % 8 == 0) + (step[1] % 16 == 0)]
            plan = CachePlan(slow=max(len(view) - step[2] % 4, 0)) if has_volatile else None
            continued = self.provider.render(view, model=model, tools=tools, plan=plan)
            with _without_memos(view):
                fresh = self.provider.render(view, model=model, tools=tools, plan=plan)
            same = _encode(continued.payload) == _encode(fresh.payload)
            assert same, "a rendering that continues differs from a fresh one"
            notes = [(rendered.downgrades, rendered.prefix) for rendered in (continued, fresh)]
            assert notes[0] == notes[1], "a rendering that continues has other downgrades or another prefix"
            payloads.append((continued.payload, deepcopy(continued.payload)))
        assert all(payload == copy for payload, copy in payloads), "a later rendering changed a payload"

    @examples(2)
    @given(st.data(), STEPS)
    def test_every_text_is_in_the_payload_or_a_downgrade_names_its_item(
        self, data: st.DataObject, steps: list[Step]
    ) -> None:
        model, view = self.draw(data), view_after(steps)
        rendered = self.provider.render(view, model=model, tools=TOOLS)
        payload = json.dumps(rendered.payload, ensure_ascii=False)
        named = {downgrade.item_id for downgrade in rendered.downgrades}
        for item in view:
            text = getattr(item, "text", "")
            for line in filter(str.strip, text.splitlines() if item.id not in named else ()):
                words = json.dumps(line, ensure_ascii=False)[1:-1].strip("\\n ")
                framed = escape(words)
                assert words in payload or framed in payload, f"{item} is lost, and no downgrade says so"

    @examples(2)
    @given(st.data(), STEPS)
    def test_strict_raises_exactly_if_something_is_lost(self, data: st.DataObject, steps: list[Step]) -> None:
        model, view = self.draw(data), view_after(steps)
        lenient = self.provider.render(view, model=model, tools=TOOLS)
        if all(downgrade.change in HARMLESS for downgrade in lenient.downgrades):
            strict = self.provider.render(view, model=model, tools=TOOLS, strict=True)
            assert _encode(strict.payload) == _encode(lenient.payload), "strict changes the payload"
        else:
            with pytest.raises(Downgraded):
                self.provider.render(view, model=model, tools=TOOLS, strict=True)

    @examples(2)
    @given(st.data(), _TURNS)
    def test_each_payload_extends_the_one_before(
        self, data: st.DataObject, turns: list[tuple[str, int]]
    ) -> None:
        """Without edits, sent messages stay the beginning: the service's prompt cache can serve them."""
        model = self.draw(data)
        transcript = Transcript([Message("system", "Be brief.")])
        before: Any = None
        for number, (kind, count) in enumerate(turns):
            content = ("Look:", Image(data=PNG)) if kind == "media" else f"question {number}"
            transcript.append(Message("user", content))
            payload = self.provider.render(transcript.view, model=model, tools=TOOLS).payload
            sent = payload[self.history]
            extends = before is None or sent[: len(before)] == before
            assert extends, "the next turn renders earlier messages in another way"
            before = deepcopy(sent)
            transcript.extend(_reply(kind, count, number))

    @examples(2)
    @given(st.data(), _TURNS)
    def test_a_rendered_history_is_read_back(self, data: st.DataObject, turns: list[tuple[str, int]]) -> None:
        model, items = self.draw(data), list[Item]()
        for number, (kind, count) in enumerate(turns):
            items += [Message("user", f"question {number}"), *_reply(kind, count, number)]
        items.append(Message("user", "And now?"))
        payload = self.provider.render(items, model=model, tools=TOOLS).payload
        read = self.provider.read_history(payload, model=model)
        assert _outline(read) == _outline(items), "read_history() returns other items than were rendered"

    def test_state_of_other_services_is_never_sent_and_a_downgrade_says_so(self) -> None:
        for model in self.models:
            for service in (*MODELS, "another"):
                foreign = pack(service, "some-other-model", [{"signature": "Zm9yZWlnbg==", "id": "rs_1"}])
                items: list[Item] = [
                    Message("user", "Look it up."),
                    Reasoning("a foreign thought", foreign),
                    ToolCall("c1", "look_up", "{}", foreign),
                    ToolResult("c1", "look_up", "found"),
                ]
                rendered = self.provider.render(items, model=model, tools=TOOLS)
                sent = json.dumps(rendered.payload)
                is_sent = "a foreign thought" in sent or "Zm9yZWlnbg" in sent
                assert not is_sent, f"reasoning or state of {service} is sent"
                changes = {downgrade.change for downgrade in rendered.downgrades}
                is_noted = {"state_foreign", "reasoning_left_out"} & changes
                assert is_noted, f"reasoning of {service} is left out, and no downgrade says so"

    def test_a_reply_is_read_and_goes_back(self) -> None:
        question = [Message("user", "Look it up.")]
        assert self.replies, f"set {type(self).__name__}.replies"
        for model in self.models:
            for reply in self.replies:
                before = deepcopy(reply)
                sent = self.provider.render(question, model=model, tools=TOOLS)
                parsed = self.provider.parse(reply, sent=sent, model=model)
                assert reply == before, "parse changed the response"
                assert parsed.items and parsed.error is None, f"parse() reads nothing: {parsed.error}"
                calls = [item for item in parsed.items if isinstance(item, ToolCall)]
                is_right = (parsed.finish == "calls") == bool(calls)
                assert is_right, f"finish is {parsed.finish!r}, with {len(calls)} calls"
                results = [ToolResult(call.call_id, call.name, "found") for call in calls]
                history = [*question, *parsed.items, *results, Message("user", "And now?")]
                payload = self.provider.render(history, model=model, tools=TOOLS).payload
                assert self.provider.check(payload, model) == [], "check() refuses a reply that goes back"
                for item in parsed.items:
                    is_sent = not isinstance(item, Message) or item.text in json.dumps(payload)
                    assert is_sent, f"{item} is not in the next request"

    @examples()
    @given(st.data())
    def test_a_stream_is_the_whole_reply(self, data: st.DataObject) -> None:
        events, response = data.draw(self.drawn_streams(), "stream")
        reader, expected = self.provider.stream(), self.provider.parse(response)
        text = "".join([reader.feed(event) for event in events])
        parsed = reader.close()
        assert plain(parsed.items) == plain(expected.items), (
            "a stream has other items than the whole response"
        )
        assert parsed[1:] == expected[1:], "a stream has another end or usage than the whole response"
        assert text == _text_of(expected), "feed() returned other text than the whole response has"

    @examples()
    @given(st.data())
    def test_an_interrupted_stream_is_a_history_that_can_continue(self, data: st.DataObject) -> None:
        model, question = self.draw(data), [Message("user", "Go.")]
        events, response = data.draw(self.drawn_streams(), "stream")
        reader = self.provider.stream(sent=self.provider.render(question, model=model))
        saved = events[: data.draw(st.integers(0, len(events) - 1), "events")]
        text = "".join([reader.feed(event) for event in saved])
        parsed = reader.close()
        assert _text_of(parsed) == text, "close() has other text than feed() returned"
        assert _calls_in(parsed) <= _calls_in(self.provider.parse(response)), (
            "a call that was cut off is not left out"
        )
        rendered = self.provider.render([*question, *parsed.items, Message("user", "Go on.")], model=model)
        faults = self.provider.check(rendered.payload, model)
        assert faults == [], "check() refuses what follows a broken stream"
