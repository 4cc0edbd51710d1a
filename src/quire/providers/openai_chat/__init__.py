"""OpenAI Chat Completions, the wire that most other services speak too."""
