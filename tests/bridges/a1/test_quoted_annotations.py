"""Annotations in quotes: a tool may be declared where its types are local."""

from __future__ import annotations

from pydantic import BaseModel

from quire.bridges.a1 import tool
from tests.bridges.a1.coded import run


def test_types_may_be_local_to_where_a_tool_is_declared() -> None:
    class Lamp(BaseModel):
        colour: str

    @tool
    async def paint(lamp: Lamp) -> Lamp:
        """Paint it green."""
        return {"colour": f"green over {lamp.colour}"}  # type: ignore[return-value]  # pyright: ignore

    @tool(name="look")
    def seen(lamp: Lamp) -> str:
        """Look at it."""
        return lamp.colour

    assert paint.output_schema is Lamp and set(seen.input_schema.model_fields) == {"lamp"}
    assert run(paint(lamp={"colour": "red"})) == Lamp(colour="green over red")
    assert run(seen(lamp=Lamp(colour="red"))) == "red"
