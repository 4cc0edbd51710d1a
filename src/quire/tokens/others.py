"""Names of models that are none of the three providers' and are reached over OpenAI's wires.

What is known of each is in `models`; here is which of them belong together, and which of those see. A line
that is not listed among those that see takes words alone, and answers 400 to an image for ever after.
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

SEEING_GLMS = ("glm-4v", "glm-4.1v", "glm-4.5v", "glm-4.6v", "glm-5v")

SEEING_KIMIS = (
    *("kimi-k2.5", "kimi-k2.6", "kimi-k2.7", "kimi-k2p5", "kimi-k2p6", "kimi-k2p7", "kimi-k3"),
    *("kimi-for-coding", "kimi-latest", "kimi-thinking", "kimi-vl"),
)

BLIND_GROKS = ("grok-1", "grok-2", "grok-3", "grok-beta", "grok-code")

SEEING_GROKS = ("grok", "grok-2-vision")

BLIND_QWENS = ("qwen1.5", "qwen2", "qwen-2", "qwen2.5", "qwen-2.5", "qwen3", "qwen-max", "qwen-turbo", "qwq")

SEEING_QWENS = (
    *("qwen", "qwen2-vl", "qwen-2-vl", "qwen2.5-vl", "qwen2.5vl", "qwen-2.5-vl", "qwen3-vl", "qvq"),
    *("qwen2.5-omni", "qwen3-omni", "qwen3.5", "qwen3.6", "qwen3.7", "qwen3.8", "qwen3.9"),
)

BLIND_LLAMAS = ("llama-2", "llama2", "llama-3", "llama3", "llama-v3", "meta-llama-3", "codellama")

SEEING_LLAMAS = (
    *("llama", "llama-3.2-11b", "llama-3.2-90b", "llama3.2-vision", "llama3-2-11b", "llama3-2-90b"),
    *("llama-v3p2-11b", "llama-v3p2-90b", "llama-3.1-nemotron-nano-vl", "llama3-llava"),
)
