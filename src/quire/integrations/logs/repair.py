"""Converts histories to another format, or repairs them in their own format."""

from difflib import SequenceMatcher
from typing import Any, NamedTuple

import msgspec

from quire.errors import InvalidValue, QuireError, cut
from quire.integrations.logs.conversation import Json
from quire.integrations.logs.histories import OWN, History, known_format
from quire.items import JSON, Item, Message, ToolCall, ToolResult
from quire.providers import HISTORY, NO_NAME, Downgrade, entries_in, fields_in, provider_for
from quire.state import Transcript, is_edit

READ_FIELDS: dict[str, set[str]] = {
    "openai": {"messages", "tools"},
    "openai-responses": {"input", "instructions", "tools"},
    "anthropic": {"messages", "system", "tools"},
    "gemini": {"contents", "system_instruction", "systemInstruction", "tools"},
}
"""By provider: the fields of a payload that are read as items and tools."""


def repaired(history: History, provider: str, model: str | None) -> tuple[Any, tuple[Downgrade, ...]]:
    """The payload of a history, repaired so that the provider accepts it, and the changes."""
    if not provider_for(provider).check(history.payload, model):
        return history.payload, ()
    payload, downgrades = converted(history, provider, provider, model)
    return shaped(payload, history.payload, provider), reportable(downgrades, history.payload)


def converted(
    history: History, source: str | None, to: str, model: str | None = None
) -> tuple[Any, tuple[Downgrade, ...]]:
    """A history in another format, and the downgrades."""
    # If the format stays the same, `model` is taken as the model that made the opaque state.
    items = history.items(source, model if source == to else None)
    payload, downgrades = render(items, to, model=model or history.model, tools=history.tools)
    return payload, located(history, history.format(source), items, downgrades)


def located(
    history: History, source: str, items: list[Item], downgrades: tuple[Downgrade, ...]
) -> tuple[Downgrade, ...]:
    """Downgrades with the place in the payload, the role and the call id at the start of their reasons."""
    places = _places(history, source, items)
    by_id = {item.id: item for item in items}
    with_places: list[Downgrade] = []
    for downgrade in downgrades:
        item = by_id.get(downgrade.item_id or "")
        words = [] if item is None else [places.get(item.id, ""), *_traits(item)]
        reason = ": ".join(filter(None, (", ".join(filter(None, words)), downgrade.reason)))
        with_places.append(downgrade._replace(reason=reason))
    return tuple(with_places)


def _traits(item: Item) -> list[str]:
    if isinstance(item, ToolCall | ToolResult):
        role, kind = ("assistant", "call") if isinstance(item, ToolCall) else ("tool", "result of call")
        name = "an unknown tool" if item.name == NO_NAME else cut(item.name)
        return [role, f"{kind} {cut(item.call_id)!r} of {name}"]
    return [item.role] if isinstance(item, Message) else []


def _places(history: History, source: str, items: list[Item]) -> dict[str, str]:
    """The paths of messages by item id; empty if reading each message by itself gives other items."""
    field, fields = HISTORY.get(source, ""), fields_in(history.payload)
    if history.conversation is not None:  # a log has more items than its last request
        return {}
    messages, paths = entries_in(fields.get(field) if fields else history.payload), list[str]()
    for index, message in enumerate(messages) if field else ():
        try:
            count = len(provider_for(source).read_history([message]))
        except QuireError:
            return {}
        paths += [f"{field}[{index}]"] * count
    first = len(items) - len(paths)  # an item before it is for instructions in a field of their own
    return dict(zip((item.id for item in items[first:]), paths, strict=True)) if 0 <= first <= 1 else {}


def render(
    items: list[Item], to: str, *, model: str | None = None, tools: list[Any] | None = None
) -> tuple[Any, tuple[Downgrade, ...]]:
    """Items in a format, and the downgrades. A provider's format has only the items that are shown."""
    if known_format(to) == OWN:
        return msgspec.json.decode(JSON.encode(items)), ()
    shown = list(Transcript(items).view) if any(map(is_edit, items)) else items
    rendered = provider_for(to).render(shown, model=model, tools=tools or [])
    return rendered.payload, rendered.downgrades


def shaped(rendered: Json, original: Any, provider: str) -> Any:
    """A rendered payload in the shape of the original, with the settings of the original."""
    if isinstance(original, list):
        # Only a whole request can have the tools that were added; a list of messages cannot.
        rest = {name: value for name, value in rendered.items() if name not in ("tools", "tool_choice")}
        return rest[HISTORY[provider]] if rest.keys() == {HISTORY[provider]} else rest
    fields = fields_in(original)
    settings = {name: value for name, value in fields.items() if name not in READ_FIELDS[provider]}
    return _for_gemini(rendered, fields, settings) if provider == "gemini" else {**settings, **rendered}


def reportable(downgrades: tuple[Downgrade, ...], original: Any) -> tuple[Downgrade, ...]:
    """The downgrades, except added tools if the original is a list: `shaped` removes these again."""
    is_list = isinstance(original, list)
    return tuple(change for change in downgrades if not (is_list and change.change == "tools_added"))


def shape_remark(fixed: Any, original: Any) -> str | None:
    """A sentence for the user if the original is a list but the result must be a whole payload; else None."""
    if not isinstance(original, list) or isinstance(fixed, list):
        return None
    fields = ", ".join(fields_in(fixed))
    return f"a list of messages cannot hold all of it, so a whole payload is written: {fields}"


_HTTP_FIELDS = {"systemInstruction", "toolConfig", "generationConfig", "safetySettings", "cachedContent"}


def _for_gemini(rendered: Json, original: Json, settings: Json) -> Json:
    """A payload for Gemini's client, with the settings in the `config` of the original."""
    if "config" not in original and not _HTTP_FIELDS.isdisjoint(original):
        raise InvalidValue(
            "this is a request for Gemini's HTTP interface, which is read but not written: "
            "quire convert --to gemini writes it for the client"
        )
    before = fields_in(original.get("config"))
    config = {name: value for name, value in before.items() if name not in READ_FIELDS["gemini"]}
    config |= fields_in(rendered.get("config"))
    if "tool_config" in before:
        config["tool_config"] = {**fields_in(before["tool_config"]), **fields_in(config["tool_config"])}
    with_config = {"config": config} if config or "config" in original else {}
    return {**settings, "contents": rendered["contents"], **with_config}


_ordered = msgspec.json.Encoder(order="deterministic").encode


class Change(NamedTuple):
    """A difference: `after` replaces `before`. `at` is the index of the first message, None for a field."""

    place: str
    at: int | None
    before: list[Any]
    after: list[Any]


def changes(original: Any, repaired: Any, provider: str) -> list[Change]:
    """The differences between a payload and its repair: of messages first, then of other fields."""
    field = HISTORY[provider]
    old, new = (fields_in(value) or {field: value} for value in (original, repaired))
    before, after = (entries_in(payload.get(field)) for payload in (old, new))
    texts = [list(map(_ordered, messages)) for messages in (before, after)]
    matcher = SequenceMatcher(None, texts[0], texts[1], autojunk=False)
    differences = [
        Change(f"{field}[{start}]", start, before[start:end], after[first:last])
        for operation, start, end, first, last in matcher.get_opcodes()
        if operation != "equal"
    ]
    for name in {**old, **new}:
        if name != field and old.get(name) != new.get(name):
            values = ([payload[name]] if name in payload else [] for payload in (old, new))
            differences.append(Change(name, None, *values))
    return differences
