"""The parameters of tools: the schema of an object, on every wire."""

from collections.abc import Collection

from quire.providers.check.core import Fields, as_object


def check_parameters(
    tool: Fields, key: str, refused: Collection[str] = (), *, is_required: bool = False
) -> bool:
    """Check the top of a schema, which must be that of an object; return whether it is."""
    schema = as_object(tool.get(key))
    if schema is None:
        if is_required or tool.has(key):
            tool.must_be(key, "an object", "tool_schema")
        return False
    union = next((word for word in schema if word in refused), None)
    if (schema or is_required) and str(schema.get("type")).lower() != "object":
        tool.add(f"{key}.type", "tool_schema", "the schema is not of type object")
    elif schema.get("properties") is not None and as_object(schema["properties"]) is None:
        tool.add(f"{key}.properties", "tool_schema", "must be an object")
    elif union is not None:
        tool.add(f"{key}.{union}", "tool_schema", f"{union} at the top of the schema")
    else:
        return True
    return False
