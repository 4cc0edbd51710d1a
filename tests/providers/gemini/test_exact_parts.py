"""Law 15 for single parts: a signature goes back on the very part it came with, or its loss is noted."""

from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.items import Audio, Item, Message, Opaque, ToolCall, ToolResult
from quire.providers import HARMLESS, CachePlan
from quire.state import Transcript
from tests.providers.gemini.wire import GEMINI, NEW, Json, changes, rendered, user

pytestmark = pytest.mark.laws

NOTED = {"state_stale", "state_foreign", "reasoning_left_out"}
ASKED: list[Item] = [Message("user", "Go")]
PICTURE: Json = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgoAAAAAAAAAAA=="}}
SOUND: Json = {"inlineData": {"mimeType": "audio/wav", "data": "UklGRgAAAABXQVZF"}}
HELD: list[Json] = [
    *({"text": ""}, {"text": "A"}, {"text": "Bé "}, {"text": "hm", "thought": True}, {}, PICTURE, SOUND),
    *(
        {"text": "", "thought": True},
        {"thought": True},
        {"executableCode": {"code": "1", "language": "PYTHON"}},
    ),
    {"inlineData": {"mimeType": "text/plain", "data": "d29yZHM="}},
    {"functionCall": {"name": "look", "args": {"q": 1}}},
]


def part(number: int, held: Json, signed: bool) -> Json:
    made: dict[str, Any] = dict(held)
    if "functionCall" in made:
        made["functionCall"] = {"id": f"c{number}", **made["functionCall"]}
    sign = b64encode(f"sign {number}".encode()).decode()
    return {**made, "thoughtSignature": sign} if signed else made


PARTS = st.lists(st.tuples(st.sampled_from(HELD), st.booleans()), min_size=1, max_size=7).map(
    lambda drawn: [part(number, held, signed) for number, (held, signed) in enumerate(drawn)]
)


def whole(parts: list[Json]) -> list[Item]:
    response = {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}
    sent = GEMINI.render(ASKED, model=NEW)
    return [*ASKED, *GEMINI.parse(response, sent=sent, model=NEW).items]


def streamed(parts: list[Json]) -> list[Item]:
    reader = GEMINI.stream(sent=GEMINI.render(ASKED, model=NEW), model=NEW)
    for one in parts:
        reader.feed({"candidates": [{"content": {"role": "model", "parts": [one]}}]})
    reader.feed({"candidates": [{"finishReason": "STOP"}]})
    return [*ASKED, *reader.close().items]


def history(parts: list[Json]) -> list[Item]:
    return GEMINI.read_history([user("Go"), {"role": "model", "parts": parts}], model=NEW)


@given(PARTS, st.sampled_from([whole, streamed, history]))
def test_each_signature_is_on_its_part_or_noted(parts: list[Json], read: Any) -> None:
    items = read(parts)
    items += [ToolResult(item.call_id, item.name, "x") for item in items if isinstance(item, ToolCall)]
    for held in (items, Transcript(items).view):
        made = rendered(held, NEW)
        assert GEMINI.check(made.payload, NEW) == []
        came = {one["thoughtSignature"]: one for one in parts if "thoughtSignature" in one}
        sent = [
            one for turn in made.payload["contents"] for one in turn["parts"] if "thoughtSignature" in one
        ]
        signs = [one["thoughtSignature"] for one in sent if one["thoughtSignature"] in came]
        assert signs == [sign for sign in came if sign in signs], "their order was changed"
        for sign, one in zip(signs, [one for one in sent if one["thoughtSignature"] in came], strict=True):
            named = (
                came[sign]
                if set(came[sign]) - {"thought", "thoughtSignature"}
                else {"text": "", **came[sign]}
            )
            assert one == named
        if len(signs) < len(came):
            assert NOTED & set(changes(made))


@given(PARTS, st.sampled_from([whole, streamed, history]))
def test_words_in_a_row_are_read_as_one_text(parts: list[Json], read: Any) -> None:
    said = "".join(one["text"] for one in parts if "text" in one and "thought" not in one)
    texts = [item.text for item in read(parts) if isinstance(item, Message) and item.role == "assistant"]
    assert "".join("".join(texts).split("\n")) == said


FOUND: list[list[Json]] = [
    [{"text": "A"}, {"text": "", "thoughtSignature": "QUJDRA=="}],
    [{"text": "A", "thoughtSignature": "QQ=="}, {"text": "", "thoughtSignature": "QUJDRA=="}],
    [{"text": "", "thoughtSignature": "QUJDRA=="}, {"text": "B"}],
    [{"text": "A"}, {"text": "B", "thoughtSignature": "QUJDRA=="}],
    [{"text": "", "thoughtSignature": "QUJDRA=="}, {"functionCall": {"id": "c", "name": "f", "args": {}}}],
]


@pytest.mark.parametrize("parts", FOUND)
@pytest.mark.parametrize("read", [whole, streamed, history])
def test_parts_go_back_as_they_came(parts: list[Json], read: Any) -> None:
    items = read(parts)
    items += [ToolResult(item.call_id, item.name, "x") for item in items if isinstance(item, ToolCall)]
    made = rendered(items, NEW)
    sent = made.payload["contents"][1]["parts"]
    bare = [{**one, "thoughtSignature": None} if "functionCall" in one else one for one in sent]
    assert bare == [{**one, "thoughtSignature": None} if "functionCall" in one else one for one in parts]
    assert "state_stale" not in changes(made)


@pytest.mark.parametrize(
    "data",
    [
        *(
            '{"signatures":["!!","QUJD"]}',
            '{"signatures":["QUJD","QUJD","QUJD"]}',
            '{"pieces":[[[9,"QUJD"],[0,null]]]}',
        ),
        *(
            '{"pieces":[[["x","QUJD"]]]}',
            '{"pieces":[3]}',
            '{"pieces":{}}',
            '{"pieces":[[[-1,"QUJD"],[3,null]]]}',
        ),
    ],
)
def test_a_signature_that_fits_no_part_is_noted(data: str) -> None:
    said = Message("assistant", ("ab", "c"), state=Opaque("gemini", NEW, data))
    made = rendered([*ASKED, said], NEW)
    assert GEMINI.check(made.payload, NEW) == []
    assert [change for change in changes(made) if change not in HARMLESS]


def test_a_signature_on_what_had_to_be_moved_is_noted() -> None:
    sound = Audio(data=b"RIFF\0\0\0\0WAVE")
    said = Message("assistant", ("Hi.", sound), state=Opaque("gemini", NEW, '{"signatures":[null,"QUJD"]}'))
    made = rendered([*ASKED, said], NEW, plan=CachePlan())
    assert changes(made) == ["state_stale", "media_moved"]
