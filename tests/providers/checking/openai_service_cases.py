"""Chat Completions: requests that OpenAI takes and others do not, each with the rules it breaks."""

from typing import Any

from tests.providers.checking.openai_chat_cases import USER, Places, call, calls, image, result, said

SAID = {"role": "assistant", "content": "Sunny."}
SYSTEM = {"role": "system", "content": "Be brief."}
PDF = {"type": "file", "file": {"file_id": "file-1"}}
CUSTOM = {"id": "D681PevKs", "type": "custom", "custom": {"name": "shell", "input": "ls"}}
LISTED = [{"type": "text", "text": "x"}]
TOOL = {"type": "function", "function": {"name": "look"}}
SIGNED = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
BROKEN = {"role": "assistant", "tool_calls": [call("D681PevKs", arguments='{"city": "Os')]}


def to(model: str, *messages: Any, **settings: Any) -> dict[str, Any]:
    return {"model": model, "messages": list(messages), **settings}


OF_SERVICES: dict[str, tuple[Any, Places]] = {
    "an id of OpenAI's for Mistral": (
        to("mistral-large-latest", USER, calls("call_1"), result("call_1")),
        [("messages[1].tool_calls[0].id", "id_for_model"), ("messages[2].tool_call_id", "id_for_model")],
    ),
    "the user right after a result for Mistral": (
        to("labs-devstral-small-2512", USER, calls("D681PevKs"), result("D681PevKs"), USER),
        [("messages[3].role", "turn_for_model")],
    ),
    "an answer that ends the list for Mistral": (
        to("mistralai/mistral-small-4", USER, SAID),
        [("messages[1]", "turn_for_model")],
    ),
    "half arguments for vLLM": (
        to("Qwen/Qwen3-32B", USER, BROKEN, result("D681PevKs")),
        [("messages[1].tool_calls[0].function.arguments", "arguments_for_model")],
    ),
    "arguments that are a list": (
        to(
            "gpt-oss:20b", USER, {"role": "assistant", "tool_calls": [call("a", arguments="[]")]}, result("a")
        ),
        [("messages[1].tool_calls[0].function.arguments", "arguments_for_model")],
    ),
    "instructions in the middle for Qwen": (
        to("qwen3.6-27b", SYSTEM, USER, SAID, SYSTEM, USER),
        [("messages[3].role", "instructions_for_model")],
    ),
    "two instructions, and nothing else, for Mistral": (
        to("codestral-latest", SYSTEM, SYSTEM),
        [("messages[1].role", "instructions_for_model")],
    ),
    "nothing but instructions for Qwen": (to("qwen3", SYSTEM), [("messages[0]", "instructions_for_model")]),
    "an image for DeepSeek": (
        to("deepseek-v4-pro", said({"type": "text", "text": "x"}, image())),
        [("messages[0].content[1]", "part_for_model")],
    ),
    "a file for one that sees": (
        to("pixtral-12b", said(image(), PDF)),
        [("messages[0].content[1]", "part_for_model")],
    ),
    "who speaks for Mistral": (
        to("mistral-large-latest", {**USER, "name": "ana"}),
        [("messages[0].name", "name_for_model")],
    ),
    "who speaks for Groq": (
        to("groq/compound", {**USER, "name": "ana"}, SAID),
        [("messages[0].name", "name_for_model")],
    ),
    "which agent speaks for Grok": (
        to("grok-4", {**USER, "name": "ana"}, {**SAID, "name": "planner"}, USER),
        [("messages[1].name", "name_for_model")],
    ),
    "what Kimi thought under the name of a gateway": (
        to("kimi-k2.5", USER, {**calls("a"), "reasoning": "hm"}, result("a")),
        [("messages[1].reasoning_content", "thoughts_for_model")],
    ),
    "a call without what Kimi thought": (
        to("kimi-k2.5", USER, calls("a"), result("a")),
        [("messages[1].reasoning_content", "thoughts_for_model")],
    ),
    "a call without what DeepSeek thought, after one with it": (
        to(
            "deepseek/deepseek-v4-pro",
            USER,
            {**calls("a"), "reasoning_content": ""},
            result("a"),
            {**calls("b"), "reasoning_content": None},
            result("b"),
        ),
        [("messages[3].reasoning_content", "thoughts_for_model")],
    ),
    "a plain answer without what DeepSeek thought, once one was called": (
        to(
            "deepseek-flash",
            *(USER, {**SAID, "reasoning_content": " "}, USER, {**calls("a"), "reasoning_content": "hm"}),
            *(result("a"), SAID, USER),
        ),
        [("messages[5].reasoning_content", "thoughts_for_model")],
    ),
    "a call without a signature for Gemini": (
        to("google/gemini-3-pro-preview", USER, calls("a", "b"), result("a"), result("b")),
        [("messages[1].tool_calls[0]", "signature_for_model")],
    ),
    "a signature on the second call alone": (
        to(
            "gemini-3.1-pro",
            USER,
            {"role": "assistant", "tool_calls": [call("a"), {**call("b"), **SIGNED}]},
            *(result("a"), result("b")),
            calls("c"),
            result("c"),
        ),
        [
            ("messages[1].tool_calls[0]", "signature_for_model"),
            ("messages[4].tool_calls[0]", "signature_for_model"),
        ],
    ),
    "a result that is a list for DeepSeek": (
        to("deepseek-chat", USER, {**calls("a"), "content": LISTED}, {**result("a"), "content": LISTED}),
        [("messages[1].content", "text_for_model"), ("messages[2].content", "text_for_model")],
    ),
    "instructions that are a list for Groq": (
        to("groq/llama-3.3-70b-versatile", {**SYSTEM, "content": LISTED}, USER),
        [("messages[0].content", "text_for_model")],
    ),
    "a custom tool, called": (
        to(
            "glm-4.6",
            USER,
            {"role": "assistant", "tool_calls": [CUSTOM]},
            result("D681PevKs"),
            {"role": "assistant", "audio": {"id": "audio_1"}},
            tools=[{"type": "custom", "custom": {"name": "shell"}}],
        ),
        [
            ("messages[1].tool_calls[0].type", "custom_for_model"),
            ("messages[3].audio", "custom_for_model"),
            ("tools[0].type", "custom_for_model"),
        ],
    ),
}


TAKEN_BY_SERVICES: dict[str, Any] = {
    "a blank for what Kimi thought": to(
        "kimi-k2.5", USER, {**calls("a"), "reasoning_content": " "}, result("a"), SAID, USER
    ),
    "a plain answer without what DeepSeek thought, without tools": to("deepseek-v4-pro", USER, SAID, USER),
    "a plain answer of DeepSeek where it does not think": to(
        "deepseek-v4-pro", USER, SAID, USER, tools=[TOOL], thinking={"type": "disabled"}
    ),
    "a plain answer of DeepSeek with no effort": to(
        "deepseek-v4-pro", USER, SAID, USER, tools=[TOOL], reasoning_effort="none"
    ),
    "a plain answer of DeepSeek with no effort, by way of a gateway": to(
        "deepseek/deepseek-v4-pro",
        USER,
        SAID,
        USER,
        tools=[TOOL],
        extra_body={"reasoning": {"effort": "none"}},
    ),
    "a plain answer without what Kimi thought": to("kimi-k2.6", USER, SAID, USER, tools=[TOOL]),
    "what Kimi thought, by way of a gateway": to(
        "moonshotai/kimi-k2.5",
        *(USER, {**calls("a"), "reasoning": "hm"}, result("a")),
        *({**calls("b"), "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}, result("b")),
    ),
    "calls of Kimi where it does not think": to(
        "kimi-k2.5", USER, calls("a"), result("a"), thinking={"type": "disabled"}
    ),
    "calls of DeepSeek where it does not think": to(
        "deepseek-v4-pro", USER, calls("a"), result("a"), extra_body={"thinking": {"type": "disabled"}}
    ),
    "calls of a Kimi that does not think": to("kimi-k2-0905-preview", USER, calls("a"), result("a")),
    "calls of Gemini with a signature each": to(
        "gemini-3-pro",
        USER,
        {"role": "assistant", "tool_calls": [{**call("a"), **SIGNED}, call("b")]},
        *(result("a"), result("b")),
    ),
    "a signature of another gateway": to(
        "vertex_ai/gemini-3-pro",
        USER,
        {
            "role": "assistant",
            "tool_calls": [{**call("a"), "provider_specific_fields": {"thought_signature": "c2ln"}}],
        },
        result("a"),
    ),
    "signatures beside the message": to(
        "google/gemini-3-pro-preview",
        USER,
        {**calls("a"), "reasoning_details": [{"type": "reasoning.encrypted", "data": "c2ln"}]},
        result("a"),
    ),
    "a call before the user spoke last": to("gemini-3-pro", USER, calls("a"), result("a"), SAID, USER),
    "calls of a Gemini that signs none": to("gemini-2.5-pro", USER, calls("a"), result("a")),
    "what the user says as a list": to("deepseek-chat", {**USER, "content": LISTED}),
    "a list for Groq that is no instruction": to("groq/llama-3.3-70b-versatile", {**USER, "content": LISTED}),
}
