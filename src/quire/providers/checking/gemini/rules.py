"""The rules of Gemini's generateContent, each in one sentence."""

from quire.providers.checking import texts

RULES: dict[str, str] = {
    "shape": "Each value has the type that the API documents; another type is answered with 400.",
    "not_unicode": texts.RULE,
    "no_contents": "A request has at least one content.",
    "role": "A content is of role user or model: there is no role assistant or system.",
    "empty_parts": "A content has at least one part; one without is refused.",
    "empty_part": "A part holds one thing: text, inline data, a file, a call, a response; none is refused.",
    "several_fields": "A part holds one thing only; a second is refused.",
    "unknown_field": "Parts and tools have no fields but those of the API: a type is refused.",
    "empty_text": "A text is not empty, unless it carries a thought signature.",
    "call_name": "A call and a response name their function.",
    "call_args": "The args of a call are an object, not a text of JSON.",
    "response_object": "The response of a function is an object, not a text or a list.",
    "call_role": "Calls come from the model, in a content without responses.",
    "response_role": "Responses come from the user.",
    "call_place": "A content with calls comes right after one of the user, text or responses: not first, and "
    "not after another of the model.",
    "unanswered_call": "A content with calls is followed by the responses to them.",
    "late_response": "Responses come right after the content with their calls.",
    "orphan_response": "Responses come right after a content with calls.",
    "response_count": "There are as many responses as there were calls.",
    "response_name": "A response names one of the functions that were called.",
    "responses_split": "All responses to one content come in one content: split over several, they are "
    "refused by Vertex AI, and by the Gemini API for Gemini 3.",
    "responses_mixed": "Responses stand alone in their content: beside other parts they are refused where "
    "calls were made in parallel, and taken for fewer than they are.",
    "text_after_responses": "For models after Gemini 3.1, nothing follows the responses in their content; "
    "otherwise the request is taken to end with the model, and refused.",
    "thought_signature": "For Gemini 3 and later, the first call of each step since the user spoke carries "
    "its thought signature.",
    "words_signature": "For models from Gemini 3 on that draw, on the Gemini API, the first part of a "
    "content of the model that is no thought carries its thought signature, and so does each image in it.",
    "signature_data": "A thought signature is base64, as it came.",
    "ends_with_model": "The last content is the user's: a lone content of the model is refused, and so is "
    "any last one of the model after Gemini 3.1.",
    "media_type": "Inline data names its MIME type, and what is said to be a picture or a PDF begins as one.",
    "media_data": "Inline data is base64 without a data URL in front.",
    "media_source": "File data has a file URI.",
    "system_content": "Instructions are text only.",
    "tool_name": "The name of a function starts with a letter or underscore and has at most 128 letters, "
    "digits, underscores, dots, colons and hyphens.",
    "duplicate_tool": "Each function is declared once.",
    "tools_mixed": "Functions go together with the provider's own tools from Gemini 3 on, on the Gemini API, "
    "and only where the tool config includes server side tool invocations.",
    "tool_count": "A request declares at most 512 functions.",
    "tool_schema": "The parameters of a function are a schema of type object, given in one way; as JSON "
    "Schema, its types are in small letters, and keywords hold what its draft 2020-12 says.",
    "tool_array": "An array among the parameters says what it holds: without items it is refused.",
}
