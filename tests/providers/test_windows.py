"""A server is asked how much its model holds, in the ways that its kind understands."""

from collections.abc import Mapping
from typing import Any

import pytest
from tests.fakes.model_server import ModelServer
from tests.providers.provider_kit import run

from overt.core.settings import ModelFacts, ProviderEntry
from overt.providers.model_choice import ChosenModel
from overt.providers.probing.server_window import ask_window
from overt.providers.server_models import read_models


def found(base_url: str, model: str = "fake-model", kind: str = "openai") -> ChosenModel:
    entry = ProviderEntry(name="mine", kind=kind, base_url=base_url)
    return ChosenModel(entry=entry, model=model, key=None, about=ModelFacts(name=model))


@pytest.mark.parametrize(
    ("listing", "answers", "window"),
    [
        ([{"id": "fake-model", "max_model_len": 40960}], {}, 40960),
        ([{"id": "fake-model", "context_length": 131072}], {}, 131072),
        ([{"id": "fake-model", "top_provider": {"context_length": 64000}}], {}, 64000),
        ([{"id": "fake-model", "meta": {"n_ctx": 8192, "n_ctx_train": 32768}}], {}, 8192),
        ([{"id": "fake-model"}], {"/props": {"default_generation_settings": {"n_ctx": 4096}}}, 4096),
        (
            [{"id": "fake-model"}],
            {"/api/ps": {"models": [{"name": "fake-model:latest", "context_length": 2048}]}},
            2048,
        ),
        ([{"id": "other", "max_model_len": 99}], {}, 0),
        ([{"id": "fake-model", "max_model_len": True}], {}, 0),
        ([{"id": "fake-model", "max_model_len": "many"}], {"/props": []}, 0),
    ],
)
def test_each_server_is_understood(listing: list[Any], answers: Mapping[str, Any], window: int) -> None:
    with ModelServer(listing=listing, answers=answers) as server:
        assert run(ask_window(found(server.url), {})) == window


def test_nothing_is_posted_to_a_server_that_does_not_look_like_ollama() -> None:
    with ModelServer() as server:
        told = run(ask_window(found(server.url), {}))

    assert (told, {request.method for request in server.requests}) == (0, {"GET"})


def test_nobody_who_is_no_server_is_asked_and_one_that_is_gone_says_nothing() -> None:
    assert run(ask_window(found("", kind="scripted"), {})) == 0
    assert run(ask_window(found("http://127.0.0.1:9/v1"), {})) == 0


def test_a_list_tells_the_window_of_each_model() -> None:
    body = (
        b'{"data": [{"id": "a", "limits": {"max_input_tokens": 5}},'
        b' {"id": "b", "loaded_context_length": 7}, {"id": "c"}]}'
    )

    assert read_models(body) == (
        ModelFacts(name="a", window=5),
        ModelFacts(name="b", window=7),
        ModelFacts(name="c"),
    )
