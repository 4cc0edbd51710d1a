"""Types as JSON schemas and as readers of what a model sends."""

from quire.agent.tools.shapes.definitions import Definitions
from quire.agent.tools.shapes.hints import hints_of
from quire.agent.tools.shapes.owners import is_dictionary, json_default, owner_of
from quire.agent.tools.shapes.records import MISSING, Field, object_schema, read_fields
from quire.agent.tools.shapes.shape import Json, Misfit, Shape, called, wanted
from quire.agent.tools.shapes.shaping import Shaper

__all__ = [
    "MISSING",
    "Definitions",
    "Field",
    "Json",
    "Misfit",
    "Shape",
    "Shaper",
    "called",
    "hints_of",
    "is_dictionary",
    "json_default",
    "object_schema",
    "owner_of",
    "read_fields",
    "wanted",
]
