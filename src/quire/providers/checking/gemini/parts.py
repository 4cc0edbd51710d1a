"""What each kind of part must hold."""

from collections.abc import Callable

from quire.providers.checking.beginnings import check_beginning
from quire.providers.checking.gemini.history import Content, Part, spelled
from quire.providers.checking.reading import Fields, as_list, as_object, is_base64, opened, short, type_of


def check_parts(content: Content) -> None:
    """Note what is wrong with the parts of a content, each by itself."""
    for part in content.parts:
        if part.kind == "functionCall" and content.role == "user":
            part.fields.add("", "call_role", "a call in a content of the user")
        _check_signature(part)
        if part.kind == "text":
            check_text(part)
        elif part.kind in _CHECKS:
            place = part.fields.at(spelled(part.fields, part.kind))
            fields = opened(part.fields.findings, place, part.value)
            if fields is not None:
                _CHECKS[part.kind](fields)
    if content.calls and content.responses:
        first = content.responses[0]
        first.fields.add("", "call_role", "a response in a content with calls")
    elif content.responses and content.role == "model":
        content.responses[0].fields.add("", "response_role", "a response in a content of the model")


def _check_signature(part: Part) -> None:
    key = spelled(part.fields, "thoughtSignature")
    signature = part.fields.get(key)
    # The client takes bytes and writes base64 itself.
    if isinstance(signature, str) and signature and not is_base64(signature):
        part.fields.add(key, "signature_data", "the signature is not base64")


def check_text(part: Part) -> None:
    """Note a text that is none."""
    if not isinstance(part.value, str):
        part.fields.add("text", "shape", f"must be a string, is {type_of(part.value)}")
    elif not part.value and not part.signed:
        part.fields.add("", "empty_text", "the text is empty")


def _check_name(fields: Fields) -> None:
    name = fields.get("name")
    if not isinstance(name, str) or not name:
        fields.add("name", "call_name", f"the function is not named: {short(name)}")


def _check_call(fields: Fields) -> None:
    _check_name(fields)
    args = fields.get("args")
    if args is not None and as_object(args) is None:
        fields.add("args", "call_args", f"must be an object, is {type_of(args)}")


def _check_response(fields: Fields) -> None:
    _check_name(fields)
    response = fields.get("response")
    if as_object(response) is None and not (response is None and fields.get("parts")):
        fields.add("response", "response_object", f"must be an object, is {type_of(response)}")
    for index, part in enumerate(as_list(fields.get("parts")) or ()):
        nested = Fields(fields.findings, f"{fields.at('parts')}[{index}]", as_object(part) or {})
        key = spelled(nested, "inlineData")
        if as_object(nested.get(key)) is not None:
            _check_inline(Fields(fields.findings, nested.at(key), nested.get(key)))


def _check_inline(fields: Fields) -> None:
    mime, data = spelled(fields, "mimeType"), fields.get("data")
    if not isinstance(fields.get(mime), str) or not fields.get(mime):
        fields.add(mime, "media_type", "the data has no MIME type")
    # The client takes bytes and writes base64 itself.
    if not (isinstance(data, bytes) and data) and not (isinstance(data, str) and is_base64(data)):
        fields.add("data", "media_data", "the data is not plain base64")
    check_beginning(fields, "media_type", fields.get(mime), data)


def _check_file(fields: Fields) -> None:
    uri = spelled(fields, "fileUri")
    if not isinstance(fields.get(uri), str) or not fields.get(uri):
        fields.add(uri, "media_source", "the file has no URI")


_CHECKS: dict[str, Callable[[Fields], None]] = {
    "functionCall": _check_call,
    "functionResponse": _check_response,
    "inlineData": _check_inline,
    "fileData": _check_file,
}
