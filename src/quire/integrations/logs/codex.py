"""Sessions of Codex: `~/.codex/sessions/<year>/<month>/<day>/rollout-*.jsonl`.

The format is not documented. Sources: `codex-rs/protocol` in openai/codex, public files of 2025 and 2026, and
tests with version 0.169. Each line has a time, a type and a payload. The payload of `response_item` is an
item of a request; `event_msg` repeats the item for the screen. `compacted` has the items that replace all
earlier ones.
"""

from collections import Counter
from collections.abc import Sequence

from quire.integrations.logs.conversation import (
    Conversation,
    Entry,
    Json,
    Log,
    Record,
    Target,
    Used,
    Window,
    Written,
    moment,
    timestamp,
)
from quire.integrations.logs.windows import conversation_of
from quire.items import Item
from quire.providers import entries_in, fields_in, text_in, usage_from

_LINE_TYPES = ("session_meta", "response_item", "turn_context", "event_msg", "compacted")
_OWN_FIELDS = ("internal_chat_message_metadata_passthrough", "metadata")
"""Fields that Codex adds to items but does not send."""

# Reading


def is_codex(records: list[Record]) -> bool:
    """Whether these are lines of Codex."""
    return any(record.get("type") in _LINE_TYPES and "payload" in record for _, record in records)


def read_codex(records: list[Record]) -> Log:
    """The session as one conversation."""
    windows, head, left_out, used = [Window([])], Json(), Counter[str](), list[Used]()
    for _, record in records:
        kind, payload = record.get("type"), fields_in(record.get("payload"))
        entries, time = windows[-1].entries, moment(record.get("timestamp"))
        if kind == "session_meta":
            text = fields_in(payload.get("base_instructions")).get("text") or payload.get("instructions")
            head = {"instructions": text, **head} if text else head
        elif kind == "turn_context":
            head |= {"model": model} if (model := text_in(payload.get("model"))) else {}
        elif kind == "response_item" and payload.get("type") != "ghost_snapshot":
            entries.append(Entry(_codex_item(payload), None, time))
        elif kind == "compacted":
            summary = {"type": "message", "role": "user", "content": payload.get("message")}
            items = entries_in(payload.get("replacement_history")) or [summary]
            replacing = [Entry(_codex_item(fields_in(item)), None, time) for item in items]
            windows.append(Window(replacing, len(replacing)))
        elif payload.get("type") == "thread_rolled_back":
            count = payload.get("num_turns")
            starts = [index for index, entry in enumerate(entries) if _is_by_user(entry.message)]
            if starts and isinstance(count, int) and count > 0:
                start = starts[-count:][0]
                left_out["rolled back"] += len(entries) - start
                del entries[start:]
        else:
            last = fields_in(fields_in(payload.get("info")).get("last_token_usage"))
            if usage := usage_from("openai-responses", last):
                used.append(Used(text_in(head.get("model")), usage, time))
            left_out[f"of type {payload.get('type') if kind == 'response_item' else kind}"] += 1
    conversation = Conversation("openai-responses", windows, head, used=used)
    return Log("codex", "a log of Codex", [conversation] if windows[-1].entries else [], left_out)


def _codex_item(payload: Json) -> Json:
    item = {name: value for name, value in payload.items() if value is not None and name not in _OWN_FIELDS}
    output = fields_in(item.get("output"))
    return {**item, "output": output.get("content", "")} if output else item


def _is_by_user(message: Json) -> bool:
    """Whether the user wrote a message. Codex adds user messages too, which begin with a tag or a title."""
    texts = [str(fields_in(part).get("text")) for part in entries_in(message.get("content"))]
    return message.get("role") == "user" and not "".join(texts).startswith(("<", "# AGENTS"))


# Writing

_EVENTS = {"user": "user_message", "assistant": "agent_message"}
"""By role: the event that shows a message on the screen when a session is resumed."""


def write_codex(items: Sequence[Item], target: Target) -> Written:
    """A session for `codex resume`; instructions at the start become those of the session."""
    conversation, downgrades = conversation_of(items, "openai-responses", target)
    session, windows = target.session_id, conversation.windows
    time = timestamp(next((entry.time for window in windows for entry in window.entries), None))
    meta: Json = {"id": session, "timestamp": time, "cwd": target.folder, "originator": "quire"}
    meta |= {"cli_version": "0.0.0", "source": "cli"}
    if text := conversation.head.get("instructions"):
        meta["base_instructions"] = {"text": text}
    lines = [_line(time, "session_meta", meta)]
    if model := conversation.head.get("model"):
        settings = {"approval_policy": "on-request", "sandbox_policy": {"type": "read-only"}}
        context = {"cwd": target.folder, **settings, "model": model, "summary": "auto"}
        lines.append(_line(time, "turn_context", context))
    for window in windows:
        messages = [_stored(entry.message) for entry in window.entries]
        if window.replacing:
            history = messages[: window.replacing]
            time = timestamp(window.entries[window.replacing - 1].time)
            lines.append(_line(time, "compacted", {"message": "", "replacement_history": history}))
        for entry, message in list(zip(window.entries, messages, strict=True))[window.replacing :]:
            time = lines[-1]["timestamp"] if entry.time is None else timestamp(entry.time)
            lines.append(_line(time, "response_item", message))
            text = "\n".join(
                text_in(fields_in(part).get("text")) for part in entries_in(message.get("content"))
            )
            if event := _EVENTS.get(text_in(message.get("role"))):
                lines.append(_line(time, "event_msg", {"type": event, "message": text}))
    started_at = str(lines[0]["timestamp"])
    folder, moment_in_name = started_at[:10].replace("-", "/"), started_at[:19].replace(":", "-")
    name = f"{folder}/rollout-{moment_in_name}-{session}.jsonl"
    hint = f"put it at ~/.codex/sessions/{name}, then run: codex resume {session}"
    return Written(lines, downgrades, hint, has_lines=True)


def _line(time: str, kind: str, payload: Json) -> Json:
    return {"timestamp": time, "type": kind, "payload": payload}


def _stored(message: Json) -> Json:
    """An item of a request as Codex stores it: the content of a message is a list of parts."""
    content = message.get("content")
    if message.get("role") == "system":
        message = {**message, "role": "developer"}  # the API accepts both roles, Codex uses this one
    if not isinstance(content, str) or "role" not in message:
        return {"type": "message", **message} if "role" in message else message
    kind = "output_text" if message["role"] == "assistant" else "input_text"
    return {"type": "message", **message, "content": [{"type": kind, "text": content}]}
