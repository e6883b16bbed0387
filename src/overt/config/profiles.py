"""What a doctor run found out about a model on a server: one small file each, read again at every start."""

import os
from hashlib import sha256

from msgspec import Struct, convert
from msgspec.structs import replace

from overt.config import _private_json
from overt.core.codec import encode
from overt.core.errors import ConfigError
from overt.core.settings import Calls, ModelFacts
from overt.lib.atomic import replace as put

FOLDER = "profiles"
NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


class Cache(Struct, frozen=True, kw_only=True):
    """The same long beginning sent twice: tokens the server says it had kept (None: it does not say), and the
    seconds to the first event of each."""

    works: bool | None = None
    tokens: int | None = None
    seconds: tuple[float, ...] = ()


class ModelProfile(Struct, frozen=True, kw_only=True):
    """None, 0 and empty mean that it could not be found out. `breaks` is what went wrong, in words."""

    base_url: str
    model: str
    kind: str
    probed: str
    calls: Calls
    streaming: bool | None = None
    auto: bool | None = None
    required: bool | None = None
    parallel: bool | None = None
    streamed_calls: bool | None = None
    form: bool | None = None
    reasoning: str = ""
    usage: bool | None = None
    cache: Cache = Cache()
    window: int = 0
    system: bool | None = None
    developer: bool | None = None
    images: bool | None = None
    breaks: tuple[str, ...] = ()


def load_profile(data_dir: str, base_url: str, model: str) -> ModelProfile | None:
    """The profile of a model on a server; None where there is none, or none that can be believed."""
    content, _ = _private_json.read(_path(data_dir, base_url, model))
    try:
        found = convert(content, ModelProfile)
    except ValueError:
        return None
    return found if (found.base_url, found.model) == (_place(base_url), model) else None


def save_profile(data_dir: str, profile: ModelProfile) -> str:
    """Keep it in place of an earlier one; returns the path."""
    profile = replace(profile, base_url=_place(profile.base_url))
    path = _path(data_dir, profile.base_url, profile.model)
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        put(path, encode(profile) + b"\n")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}; make the folder writable") from None
    except UnicodeEncodeError:
        raise ConfigError("the name of the model holds half a character, so that no profile can be kept") from None
    return path


def with_profile(facts: ModelFacts, profile: ModelProfile | None) -> ModelFacts:
    """The facts, filled in by the profile where nobody has said anything."""
    if profile is None:
        return facts
    quirks = facts.quirks
    if quirks and quirks.system == "system" and profile.system is False and profile.developer:
        quirks = replace(quirks, system="developer")
    return replace(
        facts,
        calls=facts.calls or profile.calls,
        window=facts.window or profile.window,
        images=profile.images if facts.images is None else facts.images,
        reasons=bool(profile.reasoning) or None if facts.reasons is None else facts.reasons,
        quirks=quirks,
    )


def _path(data_dir: str, base_url: str, model: str) -> str:
    """A name that a person recognises and no two models share."""
    spoken = "".join(c if c in NAME_CHARACTERS else "-" for c in model[-48:]).strip(".-") or "model"
    digest = sha256(f"{_place(base_url)}\n{model}".encode("utf-8", "backslashreplace")).hexdigest()[:12]
    return os.path.join(data_dir, FOLDER, f"{spoken}-{digest}.json")


def _place(base_url: str) -> str:
    """Without its query, in which some people carry a key."""
    return base_url.partition("#")[0].partition("?")[0].strip().rstrip("/")
