"""Templates: sections in order, with parameters that they share, to be edited and switched off."""

from typing import Any

import pytest

from quire.bridges.autonomy import (
    AdditionalContextSection,
    ContextTemplate,
    ConversationHistorySection,
    FrameworkInstructionsSection,
    Memory,
    SystemInstructionsSection,
)
from quire.errors import InvalidValue, WrongType
from tests.bridges.autonomy.talking import line, lines, pair, run, said, text


class Mine:
    """A section as a user would write one."""

    def __init__(self, name: str = "mine", fault: Exception | None = None, **attributes: Any) -> None:
        self.name = name
        self.fault = fault
        self.__dict__.update(attributes)

    async def get_messages(
        self, memory: Memory, scope: str, conversation: str, params: dict[str, Any]
    ) -> list[dict[str, Any]]:
        if self.fault is not None:
            raise self.fault
        params.setdefault("seen", []).append(self.name)
        return [said("system", f"{self.name} of {scope}/{conversation}: {params}")]


async def built(
    *sections: Any, messages: int = 3, params: dict[str, Any] | None = None
) -> list[dict[str, Any]]:
    memory = Memory()
    await memory.add_messages("ana", "one", map(line, range(messages)))
    return await ContextTemplate(sections).build_context(memory, "ana", "one", params)


def test_sections_are_shown_in_their_order() -> None:
    async def talk() -> None:
        shown = await built(
            SystemInstructionsSection("Be brief."),
            FrameworkInstructionsSection(),
            ConversationHistorySection(),
        )
        assert text(shown[0]) == "Be brief." and "current_time" in text(shown[1])
        assert [one["role"] for one in shown[:2]] == ["system"] * 2 and lines(shown[2:]) == [0, 1, 2]

    run(talk)


def test_parameters_are_shared_among_sections_and_not_with_the_caller() -> None:
    async def talk() -> None:
        given = {"tone": "kind"}
        shown = await built(Mine("first"), Mine("second"), params=given)
        assert "ana/one" in text(shown[0]) and "'tone': 'kind'" in text(shown[0])
        assert "'seen': ['first', 'second']" in text(shown[1]) and given == {"tone": "kind"}

    run(talk)


def test_the_history_says_how_many_messages_there_are() -> None:
    async def talk() -> None:
        assert "'conversation_message_count': 3" in text(
            (await built(ConversationHistorySection(), Mine()))[-1]
        )

    run(talk)


def test_a_section_can_be_switched_off_and_on() -> None:
    async def talk() -> None:
        for section in (Mine(enabled=False), SystemInstructionsSection("Be brief.")):
            section.enabled = False  # type: ignore[union-attr]
            assert await built(section) == []
            section.enabled = True  # type: ignore[union-attr]
            assert len(await built(section)) == 1

    run(talk)


def test_a_section_that_fails_is_an_error_unless_it_is_declared_optional() -> None:
    async def talk() -> None:
        fault = RuntimeError("no")
        with pytest.raises(RuntimeError) as raised:
            await built(Mine(), Mine("other", fault))
        assert raised.value.__notes__ == ["in section 'other'"]
        assert len(await built(Mine(), Mine("other", fault, required=False))) == 1

    run(talk)


def test_sections_can_be_found_added_and_taken_out() -> None:
    template = ContextTemplate([Mine("a"), Mine("b")])
    between = Mine("between")
    template.add_section(between, 1)
    template.add_section(Mine("last"))
    assert template.get_section_names() == ["a", "between", "b", "last"]
    assert template.get_section("between") is between and template.get_section("none") is None
    assert template.remove_section("a") and not template.remove_section("a")
    assert template.get_section_names() == ["between", "b", "last"]
    with pytest.raises(InvalidValue):
        template.add_section(Mine("b"))
    nameless: Any = type("Nameless", (), {"get_messages": print})()
    others: list[Any] = ["text", object(), nameless]
    for wrong in others:
        with pytest.raises(WrongType):
            template.add_section(wrong)


def test_instructions_are_messages_or_a_text() -> None:
    async def talk() -> None:
        told = [said("system", "Be brief.") | {"phase": "system"}, said("system", "Be kind.")]
        for given, words in ((told, ["Be brief.", "Be kind."]), ("Be both.", ["Be both."])):
            assert [text(one) for one in await built(SystemInstructionsSection(given))] == words

    run(talk)


@pytest.mark.parametrize(
    ("switched", "told"),
    [
        ("enable_filesystem", "read_file"),
        ("enable_ask_for_user_input", "ask_user"),
        ("subagents", "delegate"),
    ],
)
def test_the_framework_tells_of_what_is_switched_on(switched: str, told: str) -> None:
    switched_on: dict[str, Any] = {switched: True}

    async def talk() -> None:
        [on], [off] = (
            await built(FrameworkInstructionsSection(**switched_on)),
            await built(FrameworkInstructionsSection()),
        )
        assert told in text(on) and told not in text(off)

    run(talk)


def test_the_last_messages() -> None:
    async def talk() -> None:
        assert lines(await built(ConversationHistorySection(max_messages=4), messages=20)) == [16, 17, 18, 19]
        for everything in (None, 0):
            assert lines(
                await built(ConversationHistorySection(max_messages=everything), messages=20)
            ) == list(range(20))

    run(talk)


def test_the_last_messages_never_split_a_call_from_its_result() -> None:
    async def talk() -> None:
        memory = Memory()
        for n in range(0, 40, 2):
            await memory.add_messages("ana", "one", [line(n), *pair(n), said("assistant", "Well.")])
        for most in range(1, 9):
            section = ConversationHistorySection(max_messages=most)
            shown = await ContextTemplate([section]).build_context(memory, "ana", "one")
            called = [call["id"] for one in shown for call in one.get("tool_calls", ())]
            assert (
                called == [one["tool_call_id"] for one in shown if one["role"] == "tool"]
                and len(shown) <= most + 2
            )

    run(talk)


def test_filtered_and_changed() -> None:
    async def talk() -> None:
        def theirs(message: dict[str, Any]) -> bool:
            return bool(message["role"] == "user")

        def louder(message: dict[str, Any]) -> dict[str, Any]:
            return {**message, "content": {"text": text(message).upper(), "type": "text"}}

        shown = await built(ConversationHistorySection(2, filter_fn=theirs, transform_fn=louder), messages=9)
        assert [text(one) for one in shown] == ["LINE 6.", "LINE 8."]

        def same(message: dict[str, Any]) -> dict[str, Any]:
            message["content"] = "changed in place"
            return message

        assert {text(one) for one in await built(ConversationHistorySection(transform_fn=same))} == {
            "changed in place"
        }
        assert (
            len(
                await built(
                    ConversationHistorySection(
                        transform_fn=lambda one: None if text(one) == "line 1." else one
                    )
                )
            )
            == 2
        )

    run(talk)


def test_a_filter_that_refuses_results_refuses_their_calls() -> None:
    async def talk() -> None:
        memory = Memory()
        await memory.add_messages("ana", "one", [line(0), *pair(1), said("assistant", "Well.")])
        section = ConversationHistorySection(filter_fn=lambda message: message["role"] != "tool")
        shown = await ContextTemplate([section]).build_context(memory, "ana", "one")
        assert [one["role"] for one in shown] == ["user", "assistant"] and not any(
            "tool_calls" in one for one in shown
        )

    run(talk)


def test_additional_context_is_what_is_set_and_what_a_function_brings() -> None:
    async def talk() -> None:
        asked: list[Any] = []

        async def prefers(scope: str, conversation: str, params: dict[str, Any]) -> list[dict[str, Any]]:
            asked.append((scope, conversation, dict(params)))
            return [said("system", "EUR")]

        section = AdditionalContextSection(name="prefers", provider_fn=prefers)
        section.add_message(said("system", "Shop closed."))
        assert [text(one) for one in await built(section, params={"a": 1})] == ["Shop closed.", "EUR"]
        assert asked == [("ana", "one", {"a": 1})]
        section.clear_messages()
        assert len(await built(section)) == 1
        plain = AdditionalContextSection("plain", lambda scope, conversation, params: [])
        plain.set_messages([said("system", "Shop open.")])
        assert len(await built(plain)) == 1

    run(talk)
