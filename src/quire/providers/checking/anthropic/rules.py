"""The rules of Anthropic's Messages API, each in one sentence."""

from quire.providers.checking import texts

RULES: dict[str, str] = {
    "shape": "Each value has the type that the API documents; another type is answered with 400.",
    "not_unicode": texts.RULE,
    "no_messages": "A request has at least one message.",
    "role": "A message is of role user, assistant or system: there is no role tool, function or developer.",
    "first_message": "On Bedrock, the first message is the user's; the API itself takes either.",
    "empty_content": "A message has content, except a last one of the assistant; an empty one is refused.",
    "empty_text": "A text block holds more than whitespace; an empty one is refused with 400.",
    "unknown_block": "A block is of a type that the API documents: no audio, no video, no types of others.",
    "unknown_field": "A message has its role and content and no more, a block nothing that libraries leave "
    "in it, such as index, and a request no fields of OpenAI's: what the API does not know is refused.",
    "block_role": "Calls and thinking come from the assistant, results and images from the user.",
    "system_unsupported": "Only some models, from Opus 4.8 on, take system messages within the conversation.",
    "system_place": "A system message follows a user message (or a server tool use) and comes last or before "
    "an assistant message: never first, never two in a row.",
    "system_content": "Instructions are a text or a list of text blocks.",
    "prefill": "Claude 4.6 and later do not continue an assistant message: the last message is the user's.",
    "prefill_whitespace": "A last assistant message must not end in whitespace.",
    "call_id": "The id of a call is made of letters, digits, underscores and hyphens, at least one.",
    "call_name": "A call names its tool with 1 to 128 letters, digits, underscores and hyphens.",
    "duplicate_call_id": "Each call has an id of its own in the whole conversation.",
    "call_input": "The input of a call is an object, not a text of JSON.",
    "unanswered_call": "Each call is answered by a tool_result in the next message.",
    "late_result": "A result comes in the message right after its call, not later.",
    "orphan_result": "A tool_result answers a call of the message before it.",
    "duplicate_result": "Each call has a single result.",
    "results_first": "The results come first in the message that answers calls; text and images follow them.",
    "results_split": "All results of one turn come in one user message: split over several, they are refused "
    "by some endpoints and teach the model not to call in parallel.",
    "result_content": "A result is a text, or blocks of text, images, documents or search results.",
    "failed_result": "A result that is an error holds nothing but text.",
    "orphan_server_result": "The result of a server tool comes after the server_tool_use that it answers.",
    "unanswered_server_call": "What a server tool or one of an MCP server was asked has its result before "
    "the user speaks again; results of other calls may come before it.",
    "program_results": "What a program of the model called is answered by results and nothing else.",
    "container": "While a program waits for what it called, the request names the container it runs in.",
    "thinking_signature": "Thinking carries its signature, redacted thinking its data, as they came.",
    "thinking_last": "Thinking is followed by text or a call: it cannot end the turn of the assistant.",
    "thinking_first": "With thinking enabled, the turn that called tools starts with its thinking; if not, "
    "the request is refused, or thinking is silently switched off for it.",
    "media_source": "An image or document has a source: base64, an http(s) url or file; documents also text, "
    "or content of texts and images.",
    "media_type": "Images are JPEG, PNG, GIF or WebP, as their bytes are, documents PDF, as they begin, or "
    "plain text.",
    "media_data": "Inline data is base64 without a data URL in front.",
    "media_size": "An image in base64 has at most 10 MiB of text, 5 MiB on Bedrock and on Vertex AI.",
    "media_for_model": "DeepSeek and other models of words alone take neither images nor documents; those of "
    "others that see take no document, except OpenAI's and Google's.",
    "cloud_source": "On Bedrock and on Vertex AI, media come with their bytes: no url, no file that was "
    "uploaded.",
    "image_side": "An image has at most 8,000 pixels a side, 2,000 where a request has more than 20 images.",
    "image_count": "A request has at most 600 images, 100 for models with a window of 200,000 tokens.",
    "request_size": "A request has at most 32 MB, 30 on Vertex AI and 20 on Bedrock, images and documents in "
    "base64 included.",
    "citations_mixed": "Citations are on for all documents of a request, or for none; likewise for its "
    "search results.",
    "edit_order": "In context_management, thinking is cleared before tool uses are.",
    "cache_shape": "A cache_control is of type ephemeral, its ttl 5m or 1h.",
    "cache_count": "A request has at most four cache breakpoints, tools and instructions included.",
    "cache_order": "Breakpoints of one hour come before those of five minutes, in the order tools, system, "
    "messages.",
    "cloud_caching": "On Bedrock and on Vertex AI, blocks have a cache_control; the request itself has none.",
    "cloud_strict": "On Bedrock, tools for Claude Opus 4.7, Opus 4.8 and Sonnet 5 do not say whether they "
    "are strict.",
    "cache_place": "Thinking blocks carry no cache_control.",
    "tool_name": "The name of a tool is made of 1 to 128 letters, digits, underscores and hyphens.",
    "duplicate_tool": "Each tool has a name of its own.",
    "tool_schema": "The input_schema of a tool is of type object, without oneOf, allOf or anyOf at its top; "
    "at every depth, types are those of JSON Schema, in small letters, and keywords hold what its draft "
    "2020-12 says.",
    "tool_property": "The properties of an input_schema, at its top, are named by 1 to 64 letters, digits, "
    "underscores, dots and hyphens.",
    "tool_strict": "Where a tool is strict, every object has additionalProperties false, and bounds such as "
    "minimum and maxLength, oneOf, formats of others, patterns that look around or back, and schemas that "
    "hold themselves or point to elsewhere are refused.",
    "strict_count": "The strict tools of a request are at most 20, with at most 24 parameters that may be "
    "left out and 16 values of several types in all.",
    "tool_choice": "A tool_choice is auto, any, none, or tool with the name of a tool that is there.",
    "forced_tool": "A tool cannot be forced while thinking is on.",
    "thinking_budget": "Thinking has fewer tokens than max_tokens, unless it goes on between calls.",
    "max_tokens": "A request says how many tokens it may produce: max_tokens, at least 1.",
}
