"""Summaries and cascades: what is asked for, by which words, and what becomes of the answer."""

from typing import Any

import pytest

from quire.compactors import (
    Cascade,
    ClearToolResults,
    Plan,
    Room,
    Summarize,
    TruncateOldest,
    transcript_text,
    leaving_out,
    old_turns,
    record,
)
from quire.errors import InvalidLimit, InvalidValue, Irreducible, QuireError, WrongType
from quire.items import Audio, Image, Message, Note, Pin, Reasoning, Summary, ToolCall, ToolResult
from quire.state import Transcript
from tests.compactors.test_results import BULK, calls
from tests.compactors.test_truncating import ids, turns
from tests.counting import FourCharacters

TOKENS = FourCharacters()
WIDE = Room(10**6, TOKENS)


def scripted(plan: Plan) -> str:
    """A writer who counts what it was summary_prompt about."""
    assert plan.request is not None
    summary_prompt = plan.request.prompt[-1]
    assert isinstance(summary_prompt, Message)
    return f"{summary_prompt.text.count('user: ')} questions, {summary_prompt.text.count('[earlier summary]')} summaries"


def test_the_defaults_are_ten_and_twenty_messages() -> None:
    compactor = Summarize()
    transcript = Transcript(turns(10))
    assert compactor.plan(transcript.view, WIDE) is None
    transcript.append(Message("user", "And now?", id="u11", created_at=11.0))
    plan = compactor.plan(transcript.view, WIDE)
    assert plan is not None and plan.request is not None and plan.after < plan.before
    outcome = record(transcript, plan, text=scripted(plan))
    assert outcome.fate == "kept" and len(transcript.view) == 10, "a summary, and nine messages"
    assert [i.text for i in transcript.view if isinstance(i, Summary)] == ["6 questions, 0 summaries"]
    assert compactor.plan(transcript.view, WIDE) is None


def test_an_earlier_summary_is_told_and_folded_in() -> None:
    transcript = Transcript([Message("system", "Be brief.", id="s", created_at=0.0)])
    for turn in range(1, 40):
        transcript.extend(turns(turn)[-2:])
        plan = Summarize(floor=4, ceiling=8).plan(transcript.view, WIDE)
        if plan is not None:
            record(transcript, plan, text=scripted(plan))
    summaries = [item for item in transcript.view if isinstance(item, Summary)]
    assert [item.text for item in summaries] == ["3 questions, 1 summaries"]
    assert len(summaries[0].spans) == 1, "spans do not pile up either"
    assert transcript.view[0].id == "s" and transcript.view[1] == summaries[0]


def test_by_tokens_the_summary_is_counted_and_never_fills_the_floor() -> None:
    transcript = Transcript(turns(20))
    space = Room(400, TOKENS)
    plan = Summarize(unit="tokens", floor=0.5, size=100).plan(transcript.view, space)
    assert plan is not None and plan.request is not None and plan.request.size == 100
    assert plan.after <= 200
    record(transcript, plan, text="x" * 400)
    assert transcript.view.tokens(TOKENS) <= plan.after
    huge = Summarize(unit="tokens").plan(Transcript(turns(20)).view, space)
    assert huge is not None and huge.request is not None and huge.request.size == 80


def test_turns_to_keep_stay_whatever_the_floor() -> None:
    transcript = Transcript(turns(6))
    plan = Summarize(floor=2, ceiling=8, keep_turns=3).plan(transcript.view, WIDE)
    assert plan is not None and plan.request is not None
    assert plan.request.items == ("u1", "a1", "u2", "a2", "u3", "a3")
    with pytest.raises(Irreducible, match="the last 5 turns") as caught:
        Summarize(floor=2, ceiling=8, keep_turns=5).plan(transcript.view, WIDE)
    assert caught.value.parts == tuple(ids(transcript).split()[2:])


def test_pins_are_not_told() -> None:
    transcript = Transcript([*turns(6), Pin("u1", id="p")])
    plan = Summarize(floor=3, ceiling=4).plan(transcript.view, WIDE)
    assert plan is not None and plan.request is not None and "u1" not in plan.request.items
    record(transcript, plan, text="gist")
    assert [item.id for item in transcript.view][:1] == ["u1"] and len(transcript.view) == 4


def test_the_default_prompt_and_guidance() -> None:
    transcript = Transcript(turns(12))
    plan = Summarize(guidance="Keep all code.", size=77).plan(transcript.view, WIDE)
    assert plan is not None and plan.request is not None
    system, user = plan.request.prompt
    assert isinstance(system, Message) and isinstance(user, Message)
    assert (system.role, user.role) == ("system", "user")
    for heading in ("Goal", "Decisions", "Facts and numbers", "Open tasks", "Files and ids", "Rules to keep"):
        assert f"\n{heading}: " in system.text
    assert "Keep all code." in system.text and "77 tokens" in system.text
    assert user.text.startswith("<conversation>\nuser: xxx")


def test_a_prompt_of_ones_own_has_one_placeholder() -> None:
    transcript = Transcript(turns(12))
    transcript.append(Message("user", "{conversation} {size}", created_at=20.0))
    prompt = 'As {"json": {size}}, {0}: {conversation}'
    plan = Summarize(prompt=prompt, floor=1, ceiling=2).plan(transcript.view, WIDE)
    assert plan is not None and plan.request is not None and len(plan.request.prompt) == 1
    (user,) = plan.request.prompt
    assert isinstance(user, Message) and user.text.startswith('As {"json": {size}}, {0}: user: xxx')


def test_items_in_words() -> None:
    words = transcript_text(
        [
            Message("system", "Be brief."),
            Message("user", ("look", Image(url="https://a.png"), Audio(data=b"a", transcript="said"))),
            Reasoning("hm"),
            ToolCall("c", "find", '{"q": 1}'),
            ToolResult("c", "find", "y" * 5_000, True),
            Note({"k": 1}),
            Summary("so far"),
        ]
    ).splitlines()
    assert words[:2] == ["user: look [image at https://a.png] said", '[call of find] {"q": 1}']
    assert words[2].startswith("[find failed] yyy") and "[... 4,001 characters ...]" in words[2]
    assert words[3:] == ['[note] {"k":1}', "[earlier summary] so far"]


def test_old_turns_on_request() -> None:
    transcript = Transcript(turns(4))
    assert old_turns(transcript.view, 4) is None
    stretch = old_turns(transcript.view, 1)
    assert stretch is not None and [i.id for i in stretch.items] == ["u1", "a1", "u2", "a2", "u3", "a3"]
    plan = Summarize().plan_for(transcript.view, WIDE, stretch)
    assert record(transcript, plan, text="gist").fate == "kept"
    assert [item.id for item in transcript.view][1:] == ["u4", "a4"]
    assert old_turns(transcript.view, 1) is None, "a summary alone is not summary_prompt again"
    everything = old_turns(transcript.view, 0)
    assert everything is not None and len(everything.items) == 2
    edit = leaving_out(transcript.view, ["u4"])
    assert edit is not None and [span.first for span in edit.spans] == ["a4"]


def test_a_cascade_goes_as_far_as_it_must() -> None:
    cascade = Cascade(ClearToolResults(keep=0, at_least=1, stub="-"), TruncateOldest())
    enough = cascade.plan(calls(BULK, BULK).view, Room(500, TOKENS))
    assert enough is not None and len(enough.edits) == 2 and enough.after < 100
    transcript = Transcript([*turns(20, 400)[:-1], *calls(BULK).recorded()])
    more = cascade.plan(transcript.view, Room(500, TOKENS))
    assert more is not None and len(more.edits) == 2 and more.after <= 250
    assert "clear-tool-results: " in more.reason and "truncate-oldest: " in more.reason
    record(transcript, more)
    assert transcript.view.tokens(TOKENS) == more.after
    assert cascade.plan(transcript.view, Room(500, TOKENS)) is None


def test_a_cascade_asks_for_words_last() -> None:
    transcript = Transcript([*turns(20, 400), *calls(BULK, BULK).recorded()])
    cascade = Cascade(
        ClearToolResults(keep=1, at_least=1), Summarize(unit="tokens"), TruncateOldest(ceiling=0)
    )
    plan = cascade.plan(transcript.view, Room(500, TOKENS))
    assert plan is not None and plan.request is not None and len(plan.edits) == 1
    assert plan.request.revision == transcript.revision
    log = transcript.recorded()
    assert record(transcript, plan, text="").fate == "discarded" and transcript.recorded() == log
    assert record(transcript, plan, text="gist").fate == "kept"
    assert transcript.view.tokens(TOKENS) <= plan.after


def test_a_cascade_at_its_end_says_so() -> None:
    transcript = Transcript([Message("user", "x" * 4000, id="big", created_at=1.0)])
    with pytest.raises(Irreducible) as caught:
        Cascade(ClearToolResults(), TruncateOldest(), ClearToolResults()).plan(
            transcript.view, Room(9, TOKENS)
        )
    assert caught.value.parts == ("big",)


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"floor": 21}, InvalidLimit),
        ({"floor": 0.5}, WrongType),
        ({"size": 0}, InvalidLimit),
        ({"keep_turns": -1}, InvalidLimit),
        ({"guidance": 3}, WrongType),
        ({"guidance": ""}, InvalidValue),
        ({"prompt": "Summarize."}, InvalidValue),
        ({"prompt": "Of {conversation}", "guidance": "short"}, InvalidValue),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], error: type[QuireError]) -> None:
    with pytest.raises(error):
        Summarize(**settings)


def test_a_cascade_is_of_compactors() -> None:
    nothing: Any = "truncate"
    with pytest.raises(WrongType):
        Cascade(nothing)
    with pytest.raises(InvalidValue):
        Cascade()
    assert repr(Cascade(TruncateOldest(floor=1))).startswith("Cascade(TruncateOldest(floor=1, ")


def test_words_that_are_longer_than_what_they_stand_for_are_discarded() -> None:
    transcript = Transcript(turns(20))
    plan = Summarize(unit="tokens", size=60).plan(transcript.view, Room(400, TOKENS))
    assert plan is not None
    outcome = record(transcript, plan, text="w " * 5_000)
    assert outcome.fate == "discarded" and "longer" in outcome.reason
    assert len(transcript.view) == 40
    assert record(transcript, plan, text="A gist.").fate == "kept"
