"""Writes src/trued/engine/prices.toml from genai-prices: `uv run --with genai-prices python tools/prices.py`."""

import datetime
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

VENDORS = ("anthropic", "openai", "google", "x-ai", "mistral", "deepseek", "moonshotai", "zai", "minimax", "cohere")
LEFT_OUT = ("embed", "image", "audio", "tts", "whisper", "transcribe", "moderation", "realtime", "dall-e", "rerank")
TABLE = Path(__file__).parent.parent / "src" / "trued" / "prices.toml"


def main() -> None:
    from genai_prices import data_snapshot

    rows: dict[str, tuple[float, float, float]] = {}
    providers = {one.id: one for one in data_snapshot.get_snapshot().providers}
    for vendor in VENDORS:
        for model in providers[vendor].models:
            if model.id not in rows and not any(word in model.id for word in LEFT_OUT):
                rows = {**row(vendor, model), **rows}
    lines = [
        f'"{name}" = [{usd_in:g}, {usd_out:g}, {cached:g}]' for name, (usd_in, usd_out, cached) in sorted(rows.items())
    ]
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    head = (
        "# Dollars for a million tokens: input, output, cached input. Made by tools/prices.py; do not edit.\n"
        "# Without the surcharge that some models have for a context beyond 200 000 tokens.\n"
        f'source = "genai-prices {version("genai-prices")}"\ndate = "{today}"\n\n[models]\n'
    )
    TABLE.write_text(head + "\n".join(lines) + "\n", "utf-8")
    print(f"{TABLE}: {len(lines)} models")


def row(vendor: str, model: Any) -> dict[str, tuple[float, float, float]]:
    """A model's price today; none where it is not told in tokens."""
    from genai_prices import Usage, calc_price

    def of(**tokens: int) -> float:
        return round(float(calc_price(Usage(**tokens), model.id, provider_id=vendor).total_price) * 1000, 6)

    try:
        found = of(input_tokens=1000), of(output_tokens=1000), of(input_tokens=1000, cache_read_tokens=1000)
    except (LookupError, ValueError):
        return {}
    family = re.sub(r"-(?:latest|0)$", "", model.id)  # claude-opus-4-0 is claude-opus-4-20250514
    return {model.id: found, family: found} if found[0] and found[1] else {}


if __name__ == "__main__":
    main()
