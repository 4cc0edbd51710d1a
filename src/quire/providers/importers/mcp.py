"""Content blocks of the Model Context Protocol, which programs put into the results of calls.

Source: modelcontextprotocol.io/specification, "Tool Result".
"""

from quire.items import Part
from quire.providers.media import part_from
from quire.providers.values import Json, fields_in, text_in


def read_part(block: Json) -> Part | None:
    """The part that a block stands for; None if it is no media block and no embedded resource."""
    kind = block.get("type")
    if kind in ("image", "audio"):
        return part_from(block.get("data"), block.get("mimeType"))
    if kind != "resource":
        return None
    resource = fields_in(block.get("resource"))
    if isinstance(text := resource.get("text"), str):
        return text
    name = text_in(resource.get("uri")).rpartition("/")[2]
    return part_from(resource.get("blob"), resource.get("mimeType"), family="file", name=name)
