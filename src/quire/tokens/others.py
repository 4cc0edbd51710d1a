"""Names of models that are none of the three providers' and are reached over the wires of two of them.

What is known of each is in `models`; here is which of them belong together, which of those see, and which
think and want their thoughts back with calls. A line that is not listed among those that see takes words
alone, and answers 400 to an image for ever after.
"""

MISTRALS = (
    *("mistral", "ministral", "magistral", "mixtral", "mathstral", "voxtral", "codestral", "devstral"),
    *("leanstral", "open-mistral", "open-mixtral", "open-codestral"),
)

SEEING_MISTRALS = (
    *("pixtral", "mistral-medium", "mistral-large-latest", "mistral-large-2512", "mistral-large-3"),
    *("mistral-small-latest", "mistral-small-2503", "mistral-small-2506", "mistral-small-2603"),
    *("mistral-small-3.1", "mistral-small-3.2", "mistral-small-4"),
    *("magistral-small-2509", "magistral-medium-2509", "magistral-small-latest", "magistral-medium-latest"),
    *("ministral-3", "ministral-3b-latest", "ministral-8b-latest", "ministral-14b"),
    *("ministral-3b-2512", "ministral-8b-2512", "devstral-small-2", "devstral-small-2512"),
)

SEEING_DEEPSEEKS = ("deepseek-vl", "deepseek-vl2", "deepseek-ocr")

THINKING_DEEPSEEKS = (
    *("deepseek-flash", "deepseek-pro"),
    *(f"deepseek-v{version}" for version in range(4, 10)),
)

SEEING_GLMS = ("glm-4v", "glm-4.1v", "glm-4.5v", "glm-4.6v", "glm-5v")

SEEING_KIMIS = (
    *("kimi-k2.5", "kimi-k2.6", "kimi-k2.7", "kimi-k3"),
    *("kimi-for-coding", "kimi-latest", "kimi-thinking", "kimi-vl"),
)

THINKING_KIMIS = (
    *("kimi-k2-thinking", "kimi-for-coding"),
    *(f"kimi-k2.{minor}" for minor in range(5, 10)),
    *(f"kimi-k{version}" for version in range(3, 10)),
)

BLIND_MOONSHOTS = ("moonshot-v1",)

SEEING_MOONSHOTS = ("moonshot-v1-8k-vision", "moonshot-v1-32k-vision", "moonshot-v1-128k-vision")

BLIND_MINIMAXES = ("minimax-m1", "minimax-m2")

BLIND_MIMOS = ("mimo-v2", "mimo-v2.5-pro")

SEEING_MIMOS = (
    *("mimo-v2-omni", *(f"mimo-v2.{minor}" for minor in range(5, 10))),
    *(f"mimo-v{version}" for version in range(3, 10)),
)

BLIND_GROKS = ("grok-1", "grok-2", "grok-3", "grok-beta", "grok-code")

SEEING_GROKS = ("grok", "grok-2-vision")

_QWEN_TWOS = ("qwen2", "qwen-2", "qwen2.5", "qwen-2.5", "qwen2-5")

_QWEN_THREES = ("qwen3.", "qwen-3.")

# From 3.5 on they see, but the largest of them only from 3.8 on.
BLIND_QWENS = ("qwen", "qwq", *(f"{line}{minor}-max" for line in _QWEN_THREES for minor in (5, 6, 7)))

SEEING_QWENS = (
    *("qvq", "qwen-vl", "qwen-omni"),
    *(f"{line}{kind}" for line in (*_QWEN_TWOS, "qwen3", "qwen-3") for kind in ("-vl", "vl", "-omni")),
    *(f"{line}{minor}" for line in _QWEN_THREES for minor in range(5, 10)),
)

BLIND_LLAMAS = ("llama-2", "llama2", "llama-3", "llama3", "llama-v3", "meta-llama-3", "codellama")

SEEING_LLAMAS = (
    *("llama", "llama-3.2-11b", "llama-3.2-90b", "llama3.2-vision", "llama3-2-11b", "llama3-2-90b"),
    *("llama-v3.2-11b", "llama-v3.2-90b", "llama-3.1-nemotron-nano-vl", "llama3-llava"),
)
