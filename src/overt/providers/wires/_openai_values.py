"""The values of chat-completions events as vendors send them, read without believing any of them."""

from overt.core.spending.usage import Usage
from overt.providers.wires._decoding import count, text_of


def split(content: object) -> tuple[str, str]:
    """What is said and what is thought: Mistral sends its thinking as parts of the content."""
    if not isinstance(content, list):
        return text_of(content), ""
    spoken = [part for part in content if not _thinks(part)]
    return text_of(spoken), "".join(text_of(part.get("thinking")) for part in content if _thinks(part))


def _thinks(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") == "thinking"


class ReasoningBlocks:
    """Blocks of reasoning as they came, made whole: pieces of one block follow each other, same type and index."""

    def __init__(self) -> None:
        self._blocks: list[dict[str, object]] = []
        self._pieces: list[str] = []
        self._grows = ""

    def __bool__(self) -> bool:
        return bool(self._blocks)

    def take(self, detail: dict[str, object]) -> str:
        """Add a piece; its text."""
        grows = next((name for name in ("text", "summary") if isinstance(detail.get(name), str)), "")
        text = detail[grows] if grows else ""
        assert isinstance(text, str)
        last = self._blocks[-1] if self._blocks else None
        if last is None or not self._continues(last, detail, grows):
            self._close()
            self._blocks.append(dict(detail))
            self._grows = grows
        elif len(detail) > len(last) or detail.get("signature") or not grows:
            last.update({name: value for name, value in detail.items() if value is not None})
        self._grows = self._grows or grows
        if text:
            self._pieces.append(text)
        return text

    def whole(self) -> list[dict[str, object]]:
        self._close()
        return self._blocks

    def _continues(self, last: dict[str, object], detail: dict[str, object], grows: str) -> bool:
        if "data" in detail or "data" in last or last.get("signature") or (grows and self._grows not in ("", grows)):
            return False
        return detail.get("type") == last.get("type") and detail.get("index") == last.get("index")

    def _close(self) -> None:
        if self._blocks and self._grows:
            self._blocks[-1][self._grows] = "".join(self._pieces)
        self._pieces, self._grows = [], ""


def usage_of(usage: object) -> Usage | None:
    """The counts of any vendor; `output` holds the reasoning, also where a server counts it beside."""
    if not isinstance(usage, dict):
        return None
    prompt, completion = usage.get("prompt_tokens_details"), usage.get("completion_tokens_details")
    prompt = prompt if isinstance(prompt, dict) else {}
    completion = completion if isinstance(completion, dict) else {}
    hit, missed = count(usage.get("prompt_cache_hit_tokens")), count(usage.get("prompt_cache_miss_tokens"))
    input, output = count(usage.get("prompt_tokens")) or hit + missed, count(usage.get("completion_tokens"))
    reasoning = count(completion.get("reasoning_tokens"))
    if reasoning and count(usage.get("total_tokens")) == input + output + reasoning:
        output += reasoning
    return Usage(
        input=input,
        output=output,
        cached=count(prompt.get("cached_tokens")) or hit or count(usage.get("cached_tokens")),
        cache_write=count(prompt.get("cache_creation_tokens"))
        or count(prompt.get("cache_creation_input_tokens"))
        or count(prompt.get("cache_write_tokens"))
        or count(usage.get("cache_creation_input_tokens")),
        reasoning=reasoning,
    )


def timed(usage: Usage, timings: dict[str, object]) -> Usage:
    """llama.cpp's own counts, where its usage lacks them: tokens read, taken from the cache, and written."""
    cached = count(timings.get("cache_n"))
    return Usage(
        input=usage.input or count(timings.get("prompt_n")) + cached,
        output=usage.output or count(timings.get("predicted_n")),
        cached=usage.cached or min(cached, usage.input or cached),
        cache_write=usage.cache_write,
        reasoning=usage.reasoning,
    )
