"""The parameters of a tool as every wire takes them, worked out once for each schema that was ever given."""

from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from quire.providers.dialects import Mender
from quire.providers.json_values import Json, is_object
from quire.providers.patterns import Vetted, vetted
from quire.providers.pointers import set_right
from quire.providers.properties import Narrow, narrowed
from quire.providers.schemas import plain_object
from quire.providers.spelling import may_be_googles, respelled
from quire.providers.strictness import Refusals, refusals

_CURRENT = "https://json-schema.org/draft/2020-12/schema"
_MOST = 8  # things that a note names

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Parameters(NamedTuple):
    """A schema of an object, what it does not say any more, and what it says in other words."""

    schema: Json
    lost: str = ""
    mended: str = ""
    refusals: Refusals = Refusals()
    narrow: Narrow | None = None
    vetted: Vetted | None = None


class _Kept(NamedTuple):
    """What came of a schema: its JSON, which nobody can change, or none where it was right as it was."""

    text: bytes | None
    found: Parameters
    narrow: bytes
    vetted: bytes


def parameters_of(given: Any) -> Parameters:
    """The parameters that a schema gives, or something in place of one; what is right is taken as it is."""
    text, found, narrow, vetted = _worked_out(_encode(given))
    schema: Json = given if text is None else _decode(text)
    if found.narrow is not None:
        found = found._replace(narrow=Narrow(_decode(narrow), found.narrow.names))
    if found.vetted is not None:
        found = found._replace(vetted=Vetted(_decode(vetted), found.vetted.lost))
    return found._replace(schema=schema)


@lru_cache(1024)  # tools are read at every turn, and are nearly always the same
def _worked_out(text: bytes) -> _Kept:
    found = understood(_decode(text), may_be_googles(text))
    written = _encode(found.schema)
    narrow = _encode(found.narrow.schema) if found.narrow else b""
    without = _encode(found.vetted.schema) if found.vetted else b""
    return _Kept(None if written == text else written, found._replace(schema={}), narrow, without)


def understood(given: Any, of_google: bool) -> Parameters:
    """A schema in draft 2020-12 whose top is one plain object, as near to the one given as that can be."""
    mender = Mender()
    if is_object(given):
        given = mender.schema(respelled(given) if of_google else given)
    schema, lost = plain_object(given, mender.moves)
    if set_right(schema, mender.moves):
        mender.notes["a pointer to what is not there"] = None
    if mender.notes and schema.get("$schema", _CURRENT) != _CURRENT:
        del schema["$schema"]  # it is not of that draft any more
    mended = _told([*mender.notes])
    return Parameters(schema, lost, mended, refusals(schema), narrowed(schema), vetted(schema))


def _told(notes: list[str]) -> str:
    return ", ".join([*notes[:_MOST], *(["others"] if len(notes) > _MOST else [])])
