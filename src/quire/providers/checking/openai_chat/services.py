"""What services that speak this wire and are not OpenAI refuse, of all that OpenAI takes.

Who serves a model is known by its name. A name that is not known may be anybody's, and is held to nothing.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from quire.errors import InvalidValue
from quire.providers.checking.gemini.models import Model as Gemini
from quire.providers.checking.openai_chat.state import check_signatures, check_thoughts
from quire.providers.checking.reading import Fields, as_list, as_object
from quire.tokens import UNKNOWN, facts_for

_NINE = re.compile(r"[a-zA-Z0-9]{9}")
_GROQ = re.compile(r"(?:^|[/:])groq[/:]")
_INSTRUCTIONS = ("system", "developer")
_ROLES = ("system", "developer", "user", "assistant", "tool")
_NOT_THE_USER = tuple(role for role in _ROLES if role != "user")
_FILES = ("file",)
_MEDIA = ("file", "image_url")
_ANSWERS = ("assistant", "tool")


class _Service(NamedTuple):
    """What is refused in requests to a model."""

    known: bool = False
    """Whether it is a model of others: arguments are read, and nothing of OpenAI's alone is taken."""
    mistral: bool = False
    """Whether ids are nine letters, and a result is heard before the user speaks."""
    first: bool = False
    """Whether instructions are one message, at the start."""
    nameless: tuple[str, ...] = ()
    """The roles whose messages have no name of an author."""
    parts: tuple[str, ...] = ()
    """The kinds of parts that are not taken."""
    texts: tuple[str, ...] = ()
    """The roles whose content is a text, and never a list of parts."""
    thoughts: bool = False
    """Whether thoughts go back with calls."""
    always: bool = False
    """Whether they do with plain answers, where there are tools."""
    gateway: bool = False
    """Whether the name is one of others than the model's maker, who may call thoughts otherwise."""
    signatures: bool = False
    """Whether signatures do."""


def check_service(body: Fields, model: str | None) -> None:
    """Note what the service of a model refuses, where the model is known to be one of others."""
    service = None if model is None else _service(model)
    if service is None:
        return
    messages = [*_objects(body.get("messages"))]
    _Messages(body, service, messages).check()
    if service.thoughts:
        check_thoughts(body, messages, always=service.always, gateway=service.gateway)
    if service.signatures:
        check_signatures(body, messages)
    if service.known:
        for index, tool in enumerate(_objects(body.get("tools"))):
            if tool.get("type") == "custom":
                text = "the model takes functions alone"
                body.add(f"tools[{index}].type", "custom_for_model", text)


def _service(model: str) -> _Service | None:
    """What is refused for a model; none where nothing is known to be."""
    try:
        facts = facts_for(model)
    except InvalidValue:
        return None  # there is no name in it
    on_groq = _GROQ.search(model.lower()) is not None
    if facts is UNKNOWN:
        return _Service(nameless=_ROLES, texts=_INSTRUCTIONS) if on_groq else None
    if facts.provider is not None and "open_weights" not in facts.features:
        return _Service(signatures=True) if Gemini(model).wants_signatures() else None
    mistral = "nine_character_ids" in facts.features
    nameless = _ROLES if mistral or on_groq else ()
    deepseek = facts.prefix.startswith("deepseek")
    return _Service(
        known=True,
        mistral=mistral,
        first=mistral or facts.prefix.startswith(("qwen", "qwq", "qvq")),
        nameless=_NOT_THE_USER if facts.prefix.startswith("grok") else nameless,
        parts=_FILES if "image_input" in facts.features else _MEDIA,
        texts=(_INSTRUCTIONS if on_groq else ()) + (_ANSWERS if deepseek else ()),
        thoughts="reasoning_with_calls" in facts.features,
        always="reasoning_with_answers" in facts.features,
        gateway="/" in model or ":" in model,
    )


class _Messages:
    """The messages of a request, each by itself and after the one before it."""

    def __init__(self, body: Fields, service: _Service, messages: list[Mapping[str, Any]]) -> None:
        self._body = body
        self._service = service
        self._messages = messages

    def check(self) -> None:
        """Note all that is refused in them."""
        messages = self._messages
        for place, message in enumerate(messages):
            self._check_turn(place, message.get("role"), messages[place - 1].get("role") if place else None)
            self._check_message(place, message, message.get("role"))
        if messages:
            self._check_last(len(messages) - 1, messages[-1])

    def _check_last(self, place: int, message: Mapping[str, Any]) -> None:
        role = message.get("role")
        if self._service.first and role in _INSTRUCTIONS and place == 0:
            self._add(place, "", "instructions_for_model", "stands alone, and there is nothing to answer")
        if self._service.mistral and role == "assistant" and message.get("prefix") is not True:
            self._add(place, "", "turn_for_model", "is the last, and the model's")

    def _check_turn(self, place: int, role: Any, before: Any) -> None:
        if self._service.first and role in _INSTRUCTIONS and place > 0:
            self._add(place, ".role", "instructions_for_model", "is not at the start")
        elif self._service.mistral and before == "tool" and role not in ("tool", "assistant"):
            self._add(place, ".role", "turn_for_model", "is the user's right after a result")

    def _check_message(self, place: int, message: Mapping[str, Any], role: Any) -> None:
        if role in self._service.nameless and message.get("name") is not None:
            self._add(place, ".name", "name_for_model", "is not taken here")
        if role in self._service.texts and as_list(message.get("content")) is not None:
            self._add(place, ".content", "text_for_model", "is a list, where a text is wanted")
        for index, part in enumerate(_objects(message.get("content"))):
            if part.get("type") in self._service.parts:
                text = f"is {part['type']}, which the model does not take"
                self._add(place, f".content[{index}]", "part_for_model", text)
        for index, call in enumerate(_objects(message.get("tool_calls"))):
            self._check_call(place, f".tool_calls[{index}]", call)
        self._check_id(place, ".tool_call_id", message.get("tool_call_id"))
        if self._service.known and role == "assistant" and message.get("audio") is not None:
            self._add(place, ".audio", "custom_for_model", "the model knows of no recordings")

    def _check_call(self, place: int, path: str, call: Mapping[str, Any]) -> None:
        self._check_id(place, f"{path}.id", call.get("id"))
        if not self._service.known:
            return
        if call.get("type") == "custom":
            self._add(place, f"{path}.type", "custom_for_model", "the model calls functions alone")
        arguments = (as_object(call.get("function")) or {}).get("arguments")
        if isinstance(arguments, str) and not _is_object(arguments):
            self._add(place, f"{path}.function.arguments", "arguments_for_model", "is no JSON object")

    def _check_id(self, place: int, path: str, call_id: Any) -> None:
        if self._service.mistral and isinstance(call_id, str) and not _NINE.fullmatch(call_id):
            self._add(place, path, "id_for_model", "is not nine letters and digits")

    def _add(self, place: int, path: str, rule: str, text: str) -> None:
        self._body.add(f"messages[{place}]{path}", rule, text)


def _objects(value: object) -> Iterator[Mapping[str, Any]]:
    """The objects of a list; what is none, and has its fault already, is an empty one."""
    return (as_object(one) or {} for one in as_list(value) or ())


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text, parse_constant=_refused), dict)
    except (ValueError, RecursionError):
        return False


def _refused(constant: str) -> None:
    raise ValueError(constant)
