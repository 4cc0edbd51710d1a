"""The rules of OpenAI's Chat Completions, in a sentence each."""

from quire.providers.checking import texts
from quire.providers.checking.functions import FUNCTIONS

RULES: dict[str, str] = {
    "shape": "A field has the type that the API reference gives it, and required fields are there.",
    "not_unicode": texts.RULE,
    "empty_messages": "There is at least one message; an empty list is answered with `empty_array`.",
    "unknown_role": "A role is developer, system, user, assistant, tool or function.",
    "role_for_model": "o1-mini and o1-preview take neither system nor developer messages.",
    "content_missing": (
        "Content is null only in an assistant message with tool calls, a refusal or audio; elsewhere the "
        "answer is \"Invalid value for 'content': expected a string, got null\"."
    ),
    "unknown_part": "A part of content is text, image_url, input_audio, file or refusal.",
    "part_for_role": (
        "Images, audio and files are parts of user messages only and refusals of assistant messages only; "
        "an image in a tool message is refused, and newer models take it without seeing it."
    ),
    "image_source": "An image is an http(s) URL or a data URL with base64.",
    "image_type": "An image in a data URL is png, jpeg, gif or webp, and its bytes begin as one of them.",
    "audio_format": "Audio is given with the format wav or mp3.",
    "audio_data": "Audio is base64 as it is, without the head of a data URL.",
    "file_source": "A file is a file_id, or file_data that is a data URL with base64.",
    "file_type": "A file in a data URL that is said to be a PDF begins as one.",
    "empty_tool_calls": "tool_calls is left out when there are none; an empty list is refused.",
    "too_many_tool_calls": "One message has at most 128 tool calls.",
    "call_id_length": "The id of a tool call has 1 to 64 characters, on Azure 1 to 40.",
    "duplicate_call_id": "The tool calls of one message have different ids.",
    "unanswered_tool_call": (
        "A message with tool calls is followed by tool messages responding to each tool_call_id, before "
        "any other message."
    ),
    "late_tool_message": "The result of a call follows its call before any message of another role.",
    "orphan_tool_message": "A tool message responds to a call of the assistant message before it.",
    "duplicate_tool_message": "A call is answered once; a second tool message with its id is refused.",
    "tool_name": "The name of a tool has 1 to 64 characters of a-z, A-Z, 0-9, _ and -.",
    "arguments_not_string": "The arguments of a call are a string, with JSON in it, not an object.",
    "message_name": "The name of a message's author has no whitespace and none of < > | / and \\.",
    "too_many_tools": "A request has at most 128 tools.",
    "duplicate_tool": (
        "Two tools have different names; OpenAI accepts a name twice, but a call cannot say which is meant."
    ),
    **FUNCTIONS,
    "tool_choice": (
        "tool_choice is none, or comes with tools: auto, required, or names of tools that are in the request."
    ),
    "cache_breakpoint": "Only models from GPT-5.6 on have breakpoints for the prompt cache.",
    "prompt_cache_key": "A prompt_cache_key has at most 64 characters.",
    "id_for_model": "Mistral takes ids of calls that are nine letters and digits.",
    "arguments_for_model": (
        "The arguments of a call are a JSON object for models that are not OpenAI's: whoever serves them "
        "reads them, and refuses what cannot be read."
    ),
    "turn_for_model": (
        "With Mistral, a result is followed by another or by the model, and the model does not speak last."
    ),
    "instructions_for_model": (
        "Mistral and Qwen take instructions in one message, at the start, with something after it."
    ),
    "part_for_model": (
        "DeepSeek and other models of words alone take no image; no model of those that OpenAI does not make "
        "takes a file, except Claude and Gemini."
    ),
    "text_for_model": (
        "DeepSeek takes what the model and its tools said as a text, Groq the instructions; a list of parts "
        "is refused there."
    ),
    "thoughts_for_model": (
        "Models of DeepSeek, Kimi and MiMo that think want reasoning_content beside each call, or the fields "
        "that a gateway has for it, unless the request is one without thinking; DeepSeek V4 and later want "
        "it beside each plain answer too, where the request has tools or any were called."
    ),
    "signature_for_model": (
        "For Gemini 3 and later, the first call of each message since the user spoke carries its signature, "
        "in extra_content or where a gateway has it."
    ),
    "name_for_model": "Mistral and Groq take no name of a message's author, xAI only that of a user.",
    "custom_for_model": "Only OpenAI's own models take custom tools, calls of them, and audio by its id.",
}
