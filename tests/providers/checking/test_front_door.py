"""`check`, the assertions and the pytest plugin, as users of any framework meet them."""

import re
from pathlib import Path
from typing import Any

import pytest

from quire.errors import InvalidValue, QuireError, WrongType
from quire.providers import PROVIDERS, RULES, assert_valid_anthropic, assert_valid_openai, check

pytest_plugins = ["pytester"]

CALL = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
ORPHANED: list[dict[str, Any]] = [
    {"role": "user", "content": "How is the weather?"},
    {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
]


class ClientMessage:
    """A message as a client gives it, put back in the list as it is."""

    def model_dump(self, **_options: Any) -> dict[str, Any]:
        return {"role": "assistant", "content": None, "tool_calls": [CALL]}


def test_a_fault_has_a_place_a_rule_and_words_without_content() -> None:
    (fault,) = check(ORPHANED, "openai")
    assert (fault.place.startswith("messages[1]"), fault.rule) == (True, "orphan_tool_message")
    assert fault.rule in RULES["openai"]
    assert "sunny" not in str(fault)
    assert fault.rule in str(fault)


def test_messages_of_a_client_are_read() -> None:
    history = [ORPHANED[0], ClientMessage(), ORPHANED[1]]
    assert check(history, "openai") == []
    assert check({"messages": history}, "openai") == []


class Broken:
    """An object of somebody's that cannot say what it is."""

    def model_dump(self, **_options: Any) -> Any:
        raise ValueError("no")


class Older:
    """A message of a client whose dumps take no arguments."""

    def __init__(self, message: dict[str, Any]) -> None:
        self._message = message

    def model_dump(self) -> dict[str, Any]:
        return self._message


@pytest.mark.parametrize("provider", RULES)
def test_odd_objects_of_clients_are_no_exception(provider: str) -> None:
    said = {"role": "user", "parts": [{"text": "hi"}]} if provider == "gemini" else {**ORPHANED[0]}
    assert check([Older(said)], provider) == []
    assert {fault.rule for fault in check([said, Broken()], provider)} == {"shape"}
    assert len(PROVIDERS[provider].read_history([Older(said)])) == 1
    with pytest.raises(QuireError):
        PROVIDERS[provider].read_history([said, Broken()])


@pytest.mark.parametrize("provider", RULES)
def test_a_model_is_named_by_a_text(provider: str) -> None:
    model: Any = 5
    with pytest.raises(WrongType, match="named by a text"):
        check([], provider, model=model)
    with pytest.raises(WrongType, match="named by a text"):
        PROVIDERS[provider].check([], model)


@pytest.mark.parametrize("provider", ["", "claude", None, 5])
def test_an_unknown_provider_is_a_clear_error(provider: Any) -> None:
    with pytest.raises(InvalidValue, match="there are openai, openai-responses, anthropic, gemini"):
        check([], provider)


@pytest.mark.parametrize("payload", ["[]", 5, None, {1, 2}])
def test_what_is_no_payload_is_a_clear_error(payload: Any) -> None:
    with pytest.raises(WrongType):
        check(payload, "openai")


@pytest.mark.parametrize("provider", ["openai-responses", "gemini"])
def test_a_text_alone_is_a_history_where_the_provider_takes_one(provider: str) -> None:
    assert check("hi", provider) == []


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_text_alone_is_no_payload_elsewhere(provider: str) -> None:
    with pytest.raises(WrongType):
        check("hi", provider)


@pytest.mark.parametrize("provider", RULES)
def test_every_rule_is_a_sentence(provider: str) -> None:
    assert RULES[provider]
    for name, sentence in RULES[provider].items():
        assert name.isidentifier(), name
        assert sentence.endswith(".") and len(sentence) > 20, name


@pytest.mark.parametrize("provider", RULES)
def test_every_rule_is_on_the_page(provider: str) -> None:
    page = (Path(__file__).parents[3] / "docs" / "rules.md").read_text()
    section = page.split(f"(`{provider}`)")[1].split("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", section, re.MULTILINE))
    assert rows == {name: sentence.replace("|", "&#124;") for name, sentence in RULES[provider].items()}


def test_an_assertion_lists_the_faults_and_cuts_a_long_list() -> None:
    with pytest.raises(
        AssertionError, match=r"openai would refuse this:\n  messages\[1\].*orphan_tool_message"
    ):
        assert_valid_openai(ORPHANED)
    with pytest.raises(AssertionError, match=r"and 30 more$"):
        assert_valid_openai([ORPHANED[0], *[ORPHANED[1]] * 50])
    assert_valid_anthropic([{"role": "user", "content": "hello"}])


def test_the_plugin_gives_a_fixture_for_each_provider(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_good(assert_valid_anthropic, assert_valid_gemini, assert_valid_openai_responses):
            assert_valid_anthropic([{"role": "user", "content": "hello"}])
            assert_valid_gemini([{"role": "user", "parts": [{"text": "hello"}]}])
            assert_valid_openai_responses([{"role": "user", "content": "hello"}])

        def test_bad(assert_valid_openai):
            assert_valid_openai([{"role": "tool", "tool_call_id": "c1", "content": "sunny"}])
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*orphan_tool_message*"])
