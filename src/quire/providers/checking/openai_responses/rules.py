"""The rules of OpenAI's Responses, in a sentence each."""

from quire.providers.checking import texts
from quire.providers.checking.functions import FUNCTIONS

RULES: dict[str, str] = {
    "shape": "A field has the type that the API reference gives it, and required fields are there.",
    "not_unicode": texts.RULE,
    "empty_input": "There is input, or a previous_response_id, a conversation or a prompt to go on from.",
    "two_histories": "A request goes on from a previous_response_id or from a conversation, not from both.",
    "unknown_item": "An item of the input is a message or has one of the types of the Responses.",
    "unknown_role": "A role is user, assistant, system or developer; results of tools are their own items.",
    "chat_field": (
        "messages, tool_calls and tool_call_id are fields of the Chat Completions, which are refused here."
    ),
    "content_missing": "The content of a message is a string or a list of parts, never null.",
    "unknown_part": (
        "A part has a type of the Responses, such as input_text; text and image_url are refused as invalid "
        "values."
    ),
    "part_for_role": (
        "Assistant messages have output_text and refusal parts only; other messages and the outputs of "
        "tools have input parts only."
    ),
    "image_source": "An image is a file_id, an http(s) URL or a data URL with base64.",
    "image_type": "An image in a data URL is png, jpeg, gif or webp, and its bytes begin as one of them.",
    "audio_format": "Audio is given with the format wav or mp3.",
    "audio_data": "Audio is base64 as it is, without the head of a data URL.",
    "file_source": "A file is a file_id, a file_url, or file_data that is a data URL with base64.",
    "file_type": "A file in a data URL that is said to be a PDF begins as one.",
    "call_id_length": "A call_id has 1 to 64 characters.",
    "duplicate_call_id": "No two calls have the same call_id, or an output may be taken for the wrong one's.",
    "orphan_output": (
        "An output follows its call, in the input or in the history the request goes on from; else the "
        'answer is "No tool call found for function call output".'
    ),
    "duplicate_output": "A call has one output.",
    "output_kind": (
        "A function is answered by a function_call_output, a custom tool by a custom_tool_call_output; else "
        "the call is not found."
    ),
    "unanswered_call": (
        'A call in the input has an output; else the answer is "No tool output found for function call".'
    ),
    "tool_name": "The name of a function has 1 to 128 characters of a-z, A-Z, 0-9, _ and -.",
    "arguments_not_string": "The arguments of a call are a string, with JSON in it, not an object.",
    "item_id": "The id of an item has 1 to 64 letters, digits, _ and -; without one, the field is left out.",
    "item_id_prefix": (
        "The id of a message begins with msg, of a function call with fc, of a custom tool call with ctc, "
        "of reasoning with rs."
    ),
    "duplicate_item_id": 'An item is there once; else the answer is "Duplicate item found with id".',
    "reasoning_summary": "A reasoning item has a summary, if only an empty list.",
    "reasoning_alone": (
        "Reasoning with an id is followed by the message or call it led to; else the answer is "
        '"provided without its required following item".'
    ),
    "reasoning_unstored": (
        "With store=false, reasoning with an id has its encrypted_content: by its id alone it is not found."
    ),
    "duplicate_tool": (
        "Two tools have different names; OpenAI accepts a name twice, but a call cannot say which is meant."
    ),
    **FUNCTIONS,
    "tool_choice": "tool_choice is none, auto, required with tools, or names tools that are in the request.",
    "cache_breakpoint": "Only models from GPT-5.6 on have breakpoints for the prompt cache.",
    "prompt_cache_key": "A prompt_cache_key has at most 64 characters.",
}
