"""`overt setup` where nobody can be asked: what it says, and what it does with answers given beforehand."""

from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import KEY, Place

CONFIG = '# mine\n[[providers]]\nname = "lab"\nbase_url = "{url}"\napi_key_env = "LAB_API_KEY"\n'


def test_without_a_terminal_it_says_what_to_set_instead(place: Place) -> None:
    done = place.run("setup")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "overt: overt setup asks questions, and there is no terminal to ask in. Set a key instead "
        "(export DEEPSEEK_API_KEY=…), or OVERT_BASE_URL and OVERT_MODEL; or answer beforehand: "
        "overt setup --vendor NAME --yes\n"
    )


def test_its_help_names_every_flag(place: Place) -> None:
    done = place.run("setup", "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("usage: overt setup [flags]\n")
    for flag in ("--vendor", "--model", "--yes", "--cd"):
        assert flag in done.out


def test_answers_given_beforehand_are_tried_and_kept(place: Place) -> None:
    config = place.home / ".config/overt/config.toml"
    config.parent.mkdir(parents=True)
    with ModelServer([Turn(text="ready")], models=("big", "small")) as server:
        config.write_text(CONFIG.format(url=server.url))
        environ = {"OVERT_API_KEY": "", "LAB_API_KEY": KEY}
        done = place.run("setup", "--vendor", "lab", "--model", "small", "--yes", env=environ)
        assert (done.code, done.err) == (0, "")
        assert [post.headers["authorization"] for post in server.posts] == [f"Bearer {KEY}"]
    assert config.read_text() == 'default_model = "lab/small"\n\n' + CONFIG.format(url=server.url)


def test_a_vendor_nobody_knows_is_an_error_that_names_the_nearest(place: Place) -> None:
    done = place.run("setup", "--vendor", "deepsek", "--yes")
    assert (done.code, done.err) == (1, "overt: Nothing here is called deepsek. There is: deepseek.\n")
    assert not (place.home / ".config").exists()
