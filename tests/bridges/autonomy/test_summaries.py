"""A summarized history: never waited for, never a gap, and a failure changes nothing."""

import asyncio
import gc
from pathlib import Path

import pytest

from quire.bridges.autonomy import ContextTemplate, Memory, Model, SummarizedHistorySection
from quire.errors import InvalidLimit, WrongType
from quire.models import Scripted
from tests.bridges.autonomy.talking import Clerk, Talk, line, lines, pair, run, said, settled, text


def summarizing(clerk: object, **options: object) -> SummarizedHistorySection:
    return SummarizedHistorySection(summary_model=clerk, **options)  # type: ignore[arg-type]  # pyright: ignore


def test_up_to_the_ceiling_all_is_shown_as_it_was_said() -> None:
    async def talk() -> None:
        clerk = Clerk()
        talk = Talk(summarizing(clerk))
        await talk.add(*map(line, range(20)))
        shown = await talk.shown_later()
        assert lines(shown) == list(range(20)) and clerk.asked == []

    run(talk)


def test_one_more_and_the_beginning_becomes_a_summary_that_no_turn_waits_for() -> None:
    async def talk() -> None:
        clerk = Clerk()
        clerk.go.clear()
        talk = Talk(summarizing(clerk))
        await talk.add(*map(line, range(21)))
        assert lines(await talk.shown()) == list(range(21))
        while not clerk.asked:
            await asyncio.sleep(0)
        await talk.add(line(21))
        assert lines(await talk.shown()) == list(range(22))  # still being written, and nothing is missing
        clerk.go.set()
        await settled(talk.section)
        shown = await talk.shown()
        assert shown[0]["role"] == "system" and "THE GIST" in text(shown[0])
        verbatim = lines(shown[1:])
        assert verbatim == list(range(verbatim[0], 22)) and len(shown) - 1 in range(9, 13)
        assert lines(clerk.asked) == list(range(verbatim[0]))  # they meet, with nothing between them

    run(talk)


def test_the_defaults_are_those_of_the_page() -> None:
    async def talk() -> None:
        clerk = Clerk()
        talk = Talk(summarizing(clerk))
        await talk.add(*(said("user", f"line {n}. " + "word " * 1000) for n in range(21)))
        await talk.shown_later()
        assert clerk.options == [{"max_tokens": 2048}]

    run(talk)


def test_over_two_hundred_turns_nothing_is_hidden_and_no_turn_shows_many() -> None:
    async def talk() -> None:
        clerk = Clerk()
        talk = Talk(summarizing(clerk))
        for n in range(400):
            await talk.add(line(n))
            shown = await talk.shown()
            verbatim = [number for one in shown if one["role"] != "system" for number in lines(one)]
            assert verbatim == list(range(verbatim[0], n + 1)) and len(shown) <= 22
            assert set(lines(clerk.asked)) >= set(range(verbatim[0]))
            await settled(talk.section)
        assert talk.section.get_metrics()["background_tasks_completed"] >= 20
        assert (
            sum("THE GIST" in str(asked) for asked in clerk.asked) == len(clerk.asked) - 1
        )  # each is folded in
        assert len(await talk.memory.get_messages_only("ana", "one")) == 400

    run(talk)


def test_a_floor_and_a_ceiling_of_ones_own() -> None:
    async def talk() -> None:
        talk = Talk(summarizing(Clerk(), floor=4, ceiling=6, size=100))
        await talk.add(*map(line, range(6)))
        assert len(await talk.shown_later()) == 6
        await talk.add(line(6))
        assert len(await talk.shown_later()) in (4, 5)

    run(talk)


@pytest.mark.parametrize(("floor", "ceiling"), [(0, 20), (20, 20), (30, 20), (-1, 5)])
def test_limits_that_make_no_sense_are_value_errors(floor: int, ceiling: int) -> None:
    with pytest.raises(ValueError):
        summarizing(Clerk(), floor=floor, ceiling=ceiling)
    assert issubclass(InvalidLimit, ValueError)


def test_somebody_has_to_write_the_summaries() -> None:
    with pytest.raises(TypeError):
        SummarizedHistorySection()  # type: ignore[call-arg]  # pyright: ignore
    for nobody in (None, 7):
        with pytest.raises(WrongType):
            summarizing(nobody)
    summarizing("nova-micro-v1")
    summarizing(Model("nova-micro-v1"))


@pytest.mark.parametrize("words", ["", "   "])
def test_an_empty_summary_changes_nothing(words: str) -> None:
    async def talk() -> None:
        talk = Talk(summarizing(Clerk(words)))
        await talk.add(*map(line, range(25)))
        assert lines(await talk.shown_later()) == list(range(25))
        assert talk.section.get_metrics()["background_tasks_failed"] == 1

    run(talk)


def test_a_failed_summary_changes_nothing_and_is_counted() -> None:
    async def talk() -> None:
        clerk = Clerk()
        talk = Talk(summarizing(clerk))
        await talk.add(*map(line, range(21)))
        before = await talk.shown_later()
        clerk.fault = RuntimeError("no")
        await talk.add(*map(line, range(21, 40)))
        shown = await talk.shown_later()
        assert shown[0] == before[0] and lines(shown[1:]) == list(range(lines(before[1:])[0], 40))
        metrics, info = talk.section.get_metrics(), talk.section.get_cache_info()
        assert metrics["background_tasks_completed"] == metrics["background_tasks_failed"] == 1
        assert info["cached_conversations"] == 1 and info["pending_summarizations"] == 0

    run(talk)


def test_guidance_without_a_placeholder_is_added_and_the_conversation_is_still_told() -> None:
    async def talk() -> None:
        clerk = Clerk()
        talk = Talk(summarizing(clerk, instructions="Keep every price, {also} in braces {}."))
        await talk.add(*map(line, range(21)))
        assert "THE GIST" in text((await talk.shown_later())[0])
        assert "Keep every price, {also} in braces {}." in str(clerk.asked) and lines(clerk.asked)

    run(talk)


def test_a_prompt_of_ones_own_is_used_as_it_is_with_the_conversation_in_its_place() -> None:
    async def talk() -> None:
        clerk = Clerk()
        talk = Talk(summarizing(clerk, instructions='As JSON {"gist": "{0}"}:\n{conversation}\nGist:'))
        await talk.add(
            said("user", "What about {conversation} and {size}? line 0."), *map(line, range(1, 21))
        )
        await talk.shown_later()
        [asked] = clerk.asked
        assert len(asked) == 1 and asked[0]["role"] == "user"
        told = text(asked[0])
        assert told.startswith('As JSON {"gist": "{0}"}:\n') and told.endswith("\nGist:")
        assert "What about {conversation} and {size}?" in told

    run(talk)


def test_no_call_is_ever_without_its_result() -> None:
    async def talk() -> None:
        clerk = Clerk()
        talk = Talk(summarizing(clerk, floor=5, ceiling=8))
        for n in range(0, 60, 2):
            await talk.add(line(n), *pair(n + 1), said("assistant", "Well."))
            shown = await talk.shown()
            called = [call["id"] for one in shown for call in one.get("tool_calls", ())]
            assert called == [one["tool_call_id"] for one in shown if one["role"] == "tool"]
            await settled(talk.section)
        assert clerk.asked

    run(talk)


def test_the_figures() -> None:
    async def talk() -> None:
        talk = Talk(summarizing(Clerk()))
        names = ["cache_hits", "cache_misses", "background_tasks_started"]
        names += ["background_tasks_completed", "background_tasks_failed"]
        assert talk.section.get_metrics() == dict.fromkeys(names, 0)
        await talk.add(*map(line, range(21)))
        await talk.shown_later()
        assert talk.section.get_metrics() == dict(zip(names, [1, 1, 1, 1, 0], strict=True))
        assert talk.section.get_cache_info() == {
            "cached_conversations": 1,
            "pending_summarizations": 0,
            "conversations": [("ana", "one")],
        }

    run(talk)


def test_figures_stay_when_a_conversation_is_no_longer_at_hand() -> None:
    async def talk() -> None:
        section = summarizing(Clerk())
        talk = Talk(section)
        await talk.add(*map(line, range(21)))
        await talk.shown_later()
        del talk
        gc.collect()
        assert section.get_metrics()["background_tasks_completed"] == 1
        assert section.get_cache_info()["cached_conversations"] == 0

    run(talk)


def test_clearing_shows_the_conversation_as_it_was_said() -> None:
    async def talk() -> None:
        clerk = Clerk()
        talk = Talk(summarizing(clerk))
        for n in range(60):
            await talk.add(line(n))
            await talk.shown()
            await settled(talk.section)
        assert talk.section.get_metrics()["background_tasks_completed"] >= 3
        talk.section.clear_cache(scope="bob", conversation="one")
        assert talk.section.get_cache_info()["cached_conversations"] == 1
        talk.section.clear_cache(scope="ana", conversation="one")
        assert talk.section.get_cache_info()["cached_conversations"] == 0
        assert lines(await talk.shown()) == list(range(60))
        assert 9 <= len(await talk.shown_later()) <= 12  # summarized anew

    run(talk)


def test_clearing_lets_go_of_a_summary_that_is_being_written() -> None:
    async def talk() -> None:
        clerk = Clerk()
        clerk.go.clear()
        talk = Talk(summarizing(clerk))
        await talk.add(*map(line, range(21)))
        await talk.shown()
        while not talk.section.get_cache_info()["pending_summarizations"]:
            await asyncio.sleep(0)
        writing = talk.memory.session("ana", "one").compaction
        talk.section.clear_cache("ana", "one")
        await asyncio.sleep(0)
        clerk.go.set()
        assert writing is not None
        await writing.close()
        assert talk.section.get_cache_info()["cached_conversations"] == 0
        assert lines(await talk.shown()) == list(range(21))

    run(talk)


def test_a_summary_is_there_after_a_restart(tmp_path: Path) -> None:
    async def first() -> None:
        talk = Talk(summarizing(Clerk()), Memory(store=tmp_path / "talks.db"))
        await talk.add(*map(line, range(21)))
        await talk.shown_later()

    async def second() -> None:
        clerk = Clerk()
        talk = Talk(summarizing(clerk), Memory(store=tmp_path / "talks.db"))
        shown = await talk.shown_later()
        assert "THE GIST" in text(shown[0]) and clerk.asked == [] and len(shown) < 13

    run(first)
    run(second)


def test_conversations_are_summarized_apart() -> None:
    async def talk() -> None:
        section, memory = summarizing(Clerk()), Memory()
        template = ContextTemplate([section])
        for scope, name in (("ana", "one"), ("ana", "two"), ("bob", "one"), ("a/b", "c"), ("a", "b/c")):
            await memory.add_messages(scope, name, map(line, range(21 if name != "two" else 3)))
            await template.build_context(memory, scope, name)
        await settled(section)
        assert section.get_cache_info()["cached_conversations"] == 4
        section.clear_cache(scope="ana")
        assert sorted(section.get_cache_info()["conversations"]) == [
            ("a", "b/c"),
            ("a/b", "c"),
            ("bob", "one"),
        ]
        section.clear_cache()
        assert section.get_cache_info()["cached_conversations"] == 0

    run(talk)


def test_a_model_of_the_engine_writes_as_well() -> None:
    async def talk() -> None:
        model = Scripted(["the gist of it"])
        talk = Talk(summarizing(model, size=77))
        await talk.add(*(said("user", f"line {n}. " + "word " * 100) for n in range(21)))
        assert "the gist of it" in text((await talk.shown_later())[0])
        assert model.terms[0].get("max_tokens") == 77

    run(talk)
