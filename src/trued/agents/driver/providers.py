"""Providers of raw models: the variables of their keys, and the vendors of their models."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider of models."""

    keys: tuple[str, ...]  # variables with a key; any one is enough
    along: tuple[str, ...] = ()
    vendor: str = ""  # vendor of its models; "": it serves models of several vendors
    known_as: str = ""  # the provider's name in pydantic_ai, if that differs


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
    "ollama": Provider(("OLLAMA_BASE_URL",), ("OLLAMA_API_KEY",)),  # a server on this machine needs no key
    "openai": OPENAI,
    "openai-chat": replace(OPENAI, vendor=""),  # any server that speaks OpenAI's protocol, at OPENAI_BASE_URL
    "openrouter": Provider(("OPENROUTER_API_KEY",)),
    "together": Provider(("TOGETHER_API_KEY",)),
    "vllm": Provider(("VLLM_BASE_URL",), ("VLLM_API_KEY",)),
    "zai": Provider(("ZAI_API_KEY",), (), "zai"),
}
# The beginning of a model's name → its vendor, for providers that serve several vendors' models: claude-…, anthropic/…
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
    """The vendor of this model; "" if unknown. An unknown vendor never counts as different from another vendor."""
    name = model.lower()
    maker = name.partition("/")[0] if "/" in name else name.partition("-")[0]
    return PROVIDERS[provider].vendor or MAKERS.get(maker, "")
