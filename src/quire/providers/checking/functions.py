"""What both wires of OpenAI want of the parameters of a function."""

FUNCTIONS = {
    "tool_schema": (
        "The parameters of a function are a schema of type object, without oneOf, anyOf, allOf, enum, const "
        "or not at its top; at every depth, types are those of JSON Schema, in small letters, and keywords "
        "hold what its draft 2020-12 says."
    ),
    "tool_array": "An array says what it holds: without items it is refused, at any depth.",
    "tool_strict": (
        "Where a tool is strict, every object has additionalProperties false and requires all its "
        "properties, every value has a type, a $ref stands alone, a format is one of nine, and keywords such "
        "as allOf, not and default are refused."
    ),
    "tool_pattern": (
        "A pattern in the parameters is a regular expression that Python compiles, without lookaround; "
        'another is answered with "is not a \'regex\'" or "regex lookaround is not supported".'
    ),
    "tool_id": "An $id in the parameters is a URI reference; a name with spaces is none.",
}
