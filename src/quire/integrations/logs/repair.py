"""Histories written again: in another format, or in their own with their faults repaired."""

from difflib import SequenceMatcher
from typing import Any, NamedTuple

import msgspec

from quire.errors import InvalidValue, QuireError, cut
from quire.integrations.logs.histories import OWN, History, known_format
from quire.items import JSON, Item, Message, ToolCall, ToolResult
from quire.providers import HISTORY, NO_NAME, Downgrade, entries_in, fields_in, provider_for
from quire.state import Transcript, is_edit

READ: dict[str, set[str]] = {
    "openai": {"messages", "tools"},
    "openai-responses": {"input", "instructions", "tools"},
    "anthropic": {"messages", "system", "tools"},
    "gemini": {"contents", "system_instruction", "systemInstruction", "tools"},
}
"""The fields of a payload that become items and tools."""


def repaired(history: History, provider: str, model: str | None) -> tuple[Any, tuple[Downgrade, ...]]:
    """The payload of a history without the faults that a provider would refuse, and what was changed."""
    if not provider_for(provider).check(history.payload, model):
        return history.payload, ()
    payload, downgrades = converted(history, provider, provider, model)
    return shaped(payload, history.payload, provider), reportable(downgrades, history.payload)


def converted(
    history: History, source: str | None, to: str, model: str | None = None
) -> tuple[Any, tuple[Downgrade, ...]]:
    """A history in another format, and what that could not carry."""
    # Within one format the model made the history itself, so its opaque state stays usable.
    items = history.items(source, model if source == to else None)
    payload, downgrades = render(items, to, model=model or history.model, tools=history.tools)
    return payload, located(history, history.format(source), items, downgrades)


def located(
    history: History, source: str, items: list[Item], downgrades: tuple[Downgrade, ...]
) -> tuple[Downgrade, ...]:
    """Downgrades whose reasons begin with the message: its place in the payload, role and call id."""
    places = _places(history, source, items)
    by_id = {item.id: item for item in items}
    found: list[Downgrade] = []
    for one in downgrades:
        item = by_id.get(one.item_id or "")
        words = [] if item is None else [*filter(None, [places.get(item.id)]), *_traits(item)]
        found.append(one._replace(reason=f"{', '.join(words)}: {one.reason}") if words else one)
    return tuple(found)


def _traits(item: Item) -> list[str]:
    if isinstance(item, ToolCall | ToolResult):
        role, kind = ("assistant", "call") if isinstance(item, ToolCall) else ("tool", "result of call")
        name = "an unknown tool" if item.name == NO_NAME else cut(item.name)
        return [role, f"{kind} {cut(item.call_id)!r} of {name}"]
    return [item.role] if isinstance(item, Message) else []


def _places(history: History, source: str, items: list[Item]) -> dict[str, str]:
    """The messages of items, by id; empty if the messages one by one do not give the same items."""
    field, fields = HISTORY.get(source, ""), fields_in(history.payload)
    if history.conversation is not None:  # a log has more items than its last request
        return {}
    messages, read = entries_in(fields.get(field) if fields else history.payload), list[str]()
    for index, message in enumerate(messages) if field else ():
        try:
            count = len(provider_for(source).read_history([message]))
        except QuireError:
            return {}
        read += [f"{field}[{index}]"] * count
    before = len(items) - len(read)  # instructions that the payload keeps apart
    return dict(zip((item.id for item in items[before:]), read, strict=True)) if 0 <= before <= 1 else {}


def render(
    items: list[Item], to: str, *, model: str | None = None, tools: list[Any] | None = None
) -> tuple[Any, tuple[Downgrade, ...]]:
    """Items in a format, and what the format could not carry; a provider's format holds what edits leave."""
    if known_format(to) == OWN:
        return msgspec.json.decode(JSON.encode(items)), ()
    shown = list(Transcript(items).view) if any(map(is_edit, items)) else items
    rendered = provider_for(to).render(shown, model=model, tools=tools or [])
    return rendered.payload, rendered.downgrades


def shaped(rendered: dict[str, Any], original: Any, provider: str) -> Any:
    """A rendered payload in the shape of the original, with the settings of the original."""
    if isinstance(original, list):
        # Tools are added for a whole request; a list of messages has no place for them.
        rest = {name: value for name, value in rendered.items() if name not in ("tools", "tool_choice")}
        return rest[HISTORY[provider]] if rest.keys() == {HISTORY[provider]} else rest
    given = fields_in(original)
    kept = {name: value for name, value in given.items() if name not in READ[provider]}
    return _for_gemini(rendered, given, kept) if provider == "gemini" else {**kept, **rendered}


def reportable(downgrades: tuple[Downgrade, ...], original: Any) -> tuple[Downgrade, ...]:
    """The changes to report: not that tools were added, where the original is a list and has none."""
    return tuple(one for one in downgrades if not isinstance(original, list) or one.change != "tools_added")


def outgrown(fixed: Any, original: Any) -> str | None:
    """A sentence for where a list was read and a whole payload is written."""
    if not isinstance(original, list) or isinstance(fixed, list):
        return None
    fields = ", ".join(fields_in(fixed))
    return f"a list of messages cannot hold all of it, so a whole payload is written: {fields}"


_HTTP_FIELDS = {"systemInstruction", "toolConfig", "generationConfig", "safetySettings", "cachedContent"}


def _for_gemini(rendered: dict[str, Any], given: dict[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
    """A payload for Gemini's client; settings in the `config` of the original stay."""
    if "config" not in given and not _HTTP_FIELDS.isdisjoint(given):
        raise InvalidValue(
            "this is a request for Gemini's HTTP interface, which is read but not written: "
            "quire convert --to gemini writes it for the client"
        )
    before = fields_in(given.get("config"))
    config = {name: value for name, value in before.items() if name not in READ["gemini"]}
    config |= fields_in(rendered.get("config"))
    if "tool_config" in before:
        config["tool_config"] = {**fields_in(before["tool_config"]), **fields_in(config["tool_config"])}
    with_config = {"config": config} if config or "config" in given else {}
    return {**kept, "contents": rendered["contents"], **with_config}


_ordered = msgspec.json.Encoder(order="deterministic").encode


class Change(NamedTuple):
    """What a repair put in place of some messages, or of a field: the index of the first message, if any."""

    place: str
    at: int | None
    before: list[Any]
    after: list[Any]


def changes(original: Any, repaired: Any, provider: str) -> list[Change]:
    """The difference between a payload and its repair, message by message, then field by field."""
    field = HISTORY[provider]
    one, other = (fields_in(value) or {field: value} for value in (original, repaired))
    before, after = (entries_in(value.get(field)) for value in (one, other))
    rows = [list(map(_ordered, messages)) for messages in (before, after)]
    matched = SequenceMatcher(None, rows[0], rows[1], autojunk=False)
    found = [
        Change(f"{field}[{start}]", start, before[start:end], after[first:last])
        for what, start, end, first, last in matched.get_opcodes()
        if what != "equal"
    ]
    for name in {**one, **other}:
        if name != field and one.get(name) != other.get(name):
            values = ([value[name]] if name in value else [] for value in (one, other))
            found.append(Change(name, None, *values))
    return found
