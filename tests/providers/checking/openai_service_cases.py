"""Chat Completions: requests that OpenAI takes and others do not, each with the rules it breaks."""

from typing import Any

from tests.providers.checking.openai_chat_cases import USER, Places, call, calls, image, result, said

SAID = {"role": "assistant", "content": "Sunny."}
SYSTEM = {"role": "system", "content": "Be brief."}
PDF = {"type": "file", "file": {"file_id": "file-1"}}
CUSTOM = {"id": "D681PevKs", "type": "custom", "custom": {"name": "shell", "input": "ls"}}
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
