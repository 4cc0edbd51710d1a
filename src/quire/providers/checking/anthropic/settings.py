"""What holds for a request as a whole: citations on all documents or none, and the order of edits."""

from collections.abc import Iterator

from quire.providers.checking.anthropic.history import Message
from quire.providers.checking.faults import Findings
from quire.providers.checking.reading import Fields, as_list, as_object

_CITED = ("document", "search_result")
_THINKING, _TOOL_USES = "clear_thinking", "clear_tool_uses"


def check_citations(findings: Findings, messages: list[Message]) -> None:
    """Note the first document, and the first search result, that has citations where the first has none."""
    for kind in _CITED:
        found = [entry for message in messages for entry in _cited(message, kind)]
        other = next((place for place, cited in found if cited != found[0][1]), None)
        if other is not None:
            text = f"citations are {'off' if found[0][1] else 'on'} here, unlike at {found[0][0]}"
            findings.add(other, "citations_mixed", text)


def check_edits(body: Fields) -> None:
    """Note where tool uses are cleared before thinking is."""
    edits = as_list((as_object(body.get("context_management")) or {}).get("edits")) or ()
    cleared = False
    for index, edit in enumerate(edits):
        kind = (as_object(edit) or {}).get("type")
        if isinstance(kind, str) and kind.startswith(_THINKING) and cleared:
            text = "thinking is cleared after tool uses"
            body.add(f"context_management.edits[{index}]", "edit_order", text)
        cleared = cleared or (isinstance(kind, str) and kind.startswith(_TOOL_USES))


def _cited(message: Message, kind: str) -> Iterator[tuple[str, bool]]:
    """The places of blocks of a kind that the user sends, and whether they are to be cited."""
    for block in message.blocks if message.role == "user" else ():
        inner = as_list(block.fields.get("content")) if block.kind == "tool_result" else None
        parts = [(f"{block.place}.content[{at}]", part) for at, part in enumerate(inner or ())]
        for place, part in [
            *parts,
            (block.place, {"type": block.kind, "citations": block.fields.get("citations")}),
        ]:
            values = as_object(part) or {}
            if values.get("type") == kind:
                yield place, (as_object(values.get("citations")) or {}).get("enabled") is True
