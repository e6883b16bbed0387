"""The installed program against aimock: its configuration for one wire, and homes of its own."""

from pathlib import Path

from tests.journeys.journey_kit import KEY, Place, Ran
from tests.judges.judge_kit import Aimock

SETTINGS = """\
[[providers]]
name = "judge"
kind = "{kind}"
base_url = "{url}"
api_key_env = "JUDGE_API_KEY"
headers = {{ "X-Test-Id" = "{test}" }}
{more}
"""


class Program:
    """`overt` in a place of its own, with one provider; its requests carry the name of the test."""

    def __init__(self, folder: Path, server: Aimock, *, kind: str, test: str, more: str = "") -> None:
        folder.mkdir()
        self.place = Place(folder)
        self.test = test
        config = self.place.home / ".config/overt/config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(SETTINGS.format(kind=kind, url=server.relay.url, test=test, more=more))

    def run(self, *words: str) -> Ran:
        flags = ("--model", "judge/gpt-5", "--permission-mode", "auto")
        return self.place.run("run", *flags, *words, env={"JUDGE_API_KEY": KEY})
