"""What servers tell of their models when they list them."""

from typing import TypeGuard

from overt.core.codec import decode
from overt.core.settings import ModelFacts, Price


def read_models(body: bytes) -> tuple[ModelFacts, ...] | None:
    """The models of a list in any of the shapes in use; None when it is none of them."""
    try:
        listed: object = decode(body)
    except (ValueError, RecursionError):
        return None
    if isinstance(listed, dict):
        listed = listed.get("data", listed.get("models"))
    if not isinstance(listed, list):
        return None
    found = (_facts(item) for item in listed)
    return tuple({facts.name: facts for facts in found if facts is not None}.values())


def _facts(item: object) -> ModelFacts | None:
    if isinstance(item, str):
        return ModelFacts(name=item) if item else None
    if not isinstance(item, dict):
        return None
    names = (item.get(key) for key in ("id", "name", "model"))
    name = next((each for each in names if isinstance(each, str) and each), "")
    return (
        ModelFacts(name=name, window=window_in(item), price=_price(item.get("pricing")), images=_images(item))
        if name
        else None
    )


WINDOW = (
    "max_model_len",
    "loaded_context_length",
    "context_length",
    "context_window",
    "max_context_length",
    "max_input_tokens",
    "n_ctx",
)
"""Fields of a listed model, in the words of vLLM, LM Studio, OpenRouter, Groq, Mistral, Anthropic and llama.cpp."""


def window_in(item: dict[str, object]) -> int:
    """The tokens a listed model holds; 0 when its server does not say. What it was made for is not what it holds."""
    for holder in (item, item.get("meta"), item.get("limits"), item.get("top_provider")):
        fields = holder if isinstance(holder, dict) else {}
        for size in (fields.get(field) for field in WINDOW):
            if is_size(size):
                return size
    return 0


def is_size(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**9


def _price(pricing: object) -> Price | None:
    """OpenRouter's, which is for one token and written as text."""
    if not isinstance(pricing, dict):
        return None
    input, output = _million(pricing.get("prompt")), _million(pricing.get("completion"))
    if input is None or output is None:
        return None
    return Price(input=input, output=output, cached=_million(pricing.get("input_cache_read")))


def _million(value: object) -> float | None:
    try:
        number = float(value) if isinstance(value, str | float | int) and not isinstance(value, bool) else -1.0
    except ValueError:
        return None
    return round(number * 1e6, 6) if 0 <= number < 1 else None


def _images(item: dict[str, object]) -> bool | None:
    architecture = item.get("architecture")
    takes = architecture.get("input_modalities") if isinstance(architecture, dict) else None
    return "image" in takes if isinstance(takes, list) else None
