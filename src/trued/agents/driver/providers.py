"""Providers of raw models: their keys, and whose models they are."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Provider:
    keys: tuple[str, ...]  # variables: any one of them lets a user in
    along: tuple[str, ...] = ()
    vendor: str = ""  # of its models; empty: it passes on those of others
    known_as: str = ""  # to the library, where that has another name for it


OPENAI = Provider(("OPENAI_API_KEY",), ("OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"), "openai")
GOOGLE = Provider(("GOOGLE_API_KEY", "GEMINI_API_KEY"), ("GOOGLE_GEMINI_BASE_URL",), "google", known_as="google")
PROVIDERS = {
    "alibaba": Provider(("ALIBABA_API_KEY", "DASHSCOPE_API_KEY"), (), "qwen"),
    "anthropic": Provider(("ANTHROPIC_API_KEY",), ("ANTHROPIC_BASE_URL",), "anthropic"),
    "cerebras": Provider(("CEREBRAS_API_KEY",)),
    "deepseek": Provider(("DEEPSEEK_API_KEY",), (), "deepseek"),
    "fireworks": Provider(("FIREWORKS_API_KEY",)),
    "google": GOOGLE,
    "google-gla": GOOGLE,
    "moonshotai": Provider(("MOONSHOTAI_API_KEY",), ("MOONSHOTAI_BASE_URL",), "moonshotai"),
    "ollama": Provider(("OLLAMA_BASE_URL",), ("OLLAMA_API_KEY",)),  # one's own machine asks for no key
    "openai": OPENAI,
    "openai-chat": replace(OPENAI, vendor=""),  # whatever speaks its dialect, at OPENAI_BASE_URL
    "openrouter": Provider(("OPENROUTER_API_KEY",)),
    "together": Provider(("TOGETHER_API_KEY",)),
    "vllm": Provider(("VLLM_BASE_URL",), ("VLLM_API_KEY",)),
    "zai": Provider(("ZAI_API_KEY",), (), "zai"),
}
# What a model's name begins with where a provider passes on those of others: claude-…, anthropic/claude-…
MAKERS = {
    "anthropic": "anthropic",
    "claude": "anthropic",
    "deepseek": "deepseek",
    "deepseek-ai": "deepseek",
    "gemini": "google",
    "google": "google",
    "gpt": "openai",
    "meta-llama": "meta",
    "mistralai": "mistral",
    "moonshotai": "moonshotai",
    "openai": "openai",
    "qwen": "qwen",
    "x-ai": "x-ai",
    "z-ai": "zai",
}


def vendor_of(provider: str, model: str) -> str:
    """Who made this model; empty when nobody can tell, and then it is no other vendor than anybody's."""
    name = model.lower()
    maker = name.partition("/")[0] if "/" in name else name.partition("-")[0]
    return PROVIDERS[provider].vendor or MAKERS.get(maker, "")
