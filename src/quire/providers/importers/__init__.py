"""Forms of other libraries and protocols inside histories: LangChain, the Vercel AI SDK, MCP."""
