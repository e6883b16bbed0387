"""The embedded model offered in the chat: leaving in the middle is no missing model."""

from pathlib import Path

import pytest

from overt.app.options import Options
from overt.app.setting import read_setting
from overt.frontends.plain.offer_model import offer_model


async def interrupted(*_: object) -> bool:
    raise KeyboardInterrupt


def test_ctrl_c_while_it_is_fetched_leaves_with_word_of_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("overt.frontends.plain.offer_model.offer", interrupted)
    with pytest.raises(KeyboardInterrupt):
        offer_model(read_setting(Options(directory=str(tmp_path))))
    assert capsys.readouterr().out == "\nStopped. The same command goes on from here: overt models fetch\n"
