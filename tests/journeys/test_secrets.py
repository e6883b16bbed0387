"""Twenty secrets and a model that says, reads, prints and writes them all: none is shown, kept or sent back."""

import json
from shlex import quote

import pytest
from tests.fakes.model_server import FakeCall, Fault, ModelServer, Turn
from tests.journeys.journey_kit import (
    PROMPT,
    Place,
    assert_each_extends_the_one_before,
    assert_paired,
    call,
    calls,
    messages,
    results,
)

from overt.core.events import Restored, SnapshotTaken, UserSpoke
from overt.lib.redaction.redact import HIDDEN
from overt.sessions.load import load
from overt.sessions.names import id_of

VARIABLES = {
    "OPENAI_API_KEY": "opn-4f9a8c71d2b34e06",
    "GITHUB_TOKEN": "tok_env_9d81c2b7a6",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzE0aMpLeKy",
    "DB_PASSWORD": "tr0ub4dor&3",
    "myAppSecretKey": "camel-7731-case",
    "SIGNING_PASSPHRASE": "correct horse battery staple 42",
    "SERVICE_CREDENTIALS": '{"user": "svc", "pass": "q\\"uoted-55"}',
    "DEPLOY_KEY": "line-one-of-a-very-long-deploy-key-1\nline-two-of-a-very-long-deploy-key-2",
    "NPM_TOKEN": "übergeheim-8842",
    "DATABASE_URL": "postgres://app:pgpw-66aa77@localhost:1/app",
}
DOTENV = {
    "PROJECT_MODEL_KEY": "proj-0b1c2d3e4f5a",
    "MAIL_PASSWORD": "m4ilpassw0rd!",
    "STRIPE_SECRET": "stripe secret 2024",
    "SESSION_TOKEN": "c2Vzc2lvbi10b2tlbg==",
    "WEBHOOK_KEY": "0123456789abcdef0123",
}
FORMS = (
    "ghp_R4nd0mR4nd0mR4nd0mR4nd0mR4nd0m12",
    "sk-ant-api03-dGhpcyBpcyBub3QgYSBrZXk-0123456789",
    "AKIAZ7Q2M4X6P8R0T2V4",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MjQyNDI0MiJ9.s3cr3tS1gnatur3s3cr3tS1gnatur3",
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\nAgEAAoIBAQC7\n-----END PRIVATE KEY-----",
)
VALUES = [*VARIABLES.values(), *DOTENV.values(), *FORMS]
TRACES = (
    *(value for value in VALUES if "\n" not in value and "://" not in value and '"' not in value),
    *("pgpw-66aa77", "uoted-55", "line-one-of-a-very-long-deploy-key-1", "line-two-of-a-very-long-deploy-key-2"),
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj",
)
"""What must not be found anywhere: the values, and the telling lines of those that a screen would break."""
ALL = "\n".join(VALUES)


@pytest.fixture
def trusted(place: Place) -> Place:
    assert len(VALUES) == 20
    (place.work / ".git").mkdir()
    (place.work / ".env").write_text("".join(f"{name}='{value}'\n" for name, value in DOTENV.items()))
    (place.work / "AGENTS.md").write_text(f"# Rules\n\nThe key is {FORMS[0]}.\n")
    (place.work / "leak.txt").write_text(ALL)
    assert place.run("trust").code == 0
    return place


def script() -> list[Turn]:
    told = [call("bash", command=f"echo {quote(value)}") for value in VALUES]
    return [
        Turn(text=f"I know:\n{ALL}\n", reasoning=f"Let me think of\n{ALL}\n", chunk=3, calls=tuple(told[:3])),
        calls(
            call("bash", command="env"),
            call("bash", command="cat leak.txt; cat .env"),
            call("read", path="leak.txt"),
            call("grep", pattern=".", path="leak.txt"),
            text=ALL,
        ),
        calls(
            call("write", path="copy.txt", content=ALL),
            call("edit", path="copy.txt", old_string=VALUES[3], new_string=f"{VALUES[3]}!"),
            call("read", path=f"missing-{VALUES[0]}"),
            call("todowrite", todos=[{"content": value, "status": "pending"} for value in VALUES]),
            call(f"tool_{VALUES[1]}"),
            FakeCall(name="read", arguments=f'{{"path": "{VALUES[3]}"'),
        ),
        calls(*told[3:], call("bash", command=f"rm -f ~/x; echo {VALUES[3]}", description=f"because of {VALUES[4]}")),
        Turn(text=f"In the end {ALL}", chunk=5),
    ]


def assert_clean(what: str, where: str) -> None:
    """As it stands, and as JSON would write it."""
    for trace in TRACES:
        for spelled in (trace, json.dumps(trace)[1:-1], json.dumps(trace, ensure_ascii=False)[1:-1]):
            assert spelled not in what, f"{trace} in {where}"


def assert_kept_nowhere(place: Place, server: ModelServer) -> None:
    # Two stores hold files of the project byte for byte, for the owner only: undo would give back something else.
    exact = [place.home / ".local/share/overt" / name for name in ("snapshots", "shadow")]
    for path in place.home.rglob("*"):
        if path.is_file() and not any(path.is_relative_to(folder) for folder in exact):
            assert_clean(path.read_text(encoding="utf-8", errors="surrogateescape"), str(path))
    for number, post in enumerate(server.posts):
        assert_clean(post.body.decode(), f"request {number}")


@pytest.mark.parametrize("form", ["text", "json", "stream-json"])
def test_twenty_secrets_reach_no_output_no_file_and_no_later_request(trusted: Place, form: str) -> None:
    with ModelServer(script()) as server:
        words = ("-p", f"use these: {ALL}", "--verbose", "--yolo", "--output-format", form)
        done = trusted.run(*words, server=server, env=VARIABLES)
        assert_clean(done.out, "stdout")
        assert_clean(done.err, "stderr")
        assert_kept_nowhere(trusted, server)
        assert HIDDEN in done.out
        assert "A secret in your message was replaced" in done.err or form == "stream-json"
        assert_each_extends_the_one_before(server)
        assert_paired(messages(server))
    assert (trusted.work / "copy.txt").read_text() == ALL.replace(VALUES[3], f"{VALUES[3]}!"), "calls run as asked"


def test_no_secret_is_in_the_environment_of_a_child(trusted: Place) -> None:
    with ModelServer(
        [calls(call("bash", command="env; cat /proc/self/environ | tr '\\0' '\\n'")), Turn(text="ok")]
    ) as server:
        trusted.run("-p", "go", "--yolo", server=server, env=VARIABLES)
        (shown,) = results(server)
    assert "PATH=" in shown
    for name in (*VARIABLES, *DOTENV, HIDDEN):
        assert name not in shown


def test_no_secret_is_on_the_screen_or_in_its_title(trusted: Place) -> None:
    environment = {**VARIABLES, "NO_COLOR": ""}
    with ModelServer(script()) as server, trusted.chat("--yolo", server=server, env=environment) as terminal:
        terminal.expect(PROMPT)
        terminal.line("go")
        asked = terminal.expect("Allow? ", 40)
        assert f"rm -f ~/x; echo {HIDDEN}" in asked and f"because of {HIDDEN}" in asked
        terminal.line("y")
        terminal.expect("In the end")
        terminal.expect(PROMPT)
        terminal.line("/todo")
        terminal.expect(PROMPT)
        terminal.line("/exit")
        assert terminal.wait() == 0
        assert_clean(terminal.raw.decode().replace("\r\n", "\n"), "terminal")
        assert_clean(terminal.text(), "terminal")
        assert b"\x1b]" not in terminal.raw
        assert_kept_nowhere(trusted, server)


def test_a_secret_that_is_typed_is_not_kept_with_the_prompts(trusted: Place) -> None:
    with ModelServer([Turn(text="fine")]) as server, trusted.chat(server=server, env=VARIABLES) as terminal:
        terminal.expect(PROMPT)
        terminal.line(f"use {VALUES[0]} and {FORMS[0]}")
        terminal.expect("A secret in your message was replaced")
        terminal.expect("fine")
        terminal.expect(PROMPT)
        terminal.line("/exit")
        assert terminal.wait() == 0
        assert_kept_nowhere(trusted, server)
    assert f"use {HIDDEN} and {HIDDEN}" in (trusted.home / ".local/share/overt/prompts.jsonl").read_text()


def test_an_error_of_the_server_does_not_tell_what_it_was_sent(trusted: Place) -> None:
    body = json.dumps({"error": {"message": f"bad key {ALL}"}})
    broken = Turn(text=f"half of {VALUES[0]}", chunk=8, fault=Fault(cut_after=4))
    for turn in (Turn(fault=Fault(status=401, body=body)), Turn(fault=Fault(status=400, body=body)), broken):
        with ModelServer([turn]) as server:
            done = trusted.run("-p", "go", server=server, env=VARIABLES)
            assert done.code == 1
            assert_clean(done.out + done.err, "error")
            assert VALUES[0][:12] not in done.out + done.err
            assert_kept_nowhere(trusted, server)


def test_a_session_goes_on_without_the_secrets_it_never_had(trusted: Place) -> None:
    with ModelServer(script()) as server:
        trusted.run("-p", "go", "--yolo", server=server, env=VARIABLES)
    with ModelServer([Turn(text="on")]) as again:
        assert trusted.run("-c", "-p", "on", server=again, env=VARIABLES).out == "on\n"
        before = server.posts[-1].body
        assert again.posts[0].body.startswith(before[: before.rindex(b"]")])


def test_what_was_hidden_cannot_be_written_over(trusted: Place) -> None:
    """The model was shown a mark in place of the key; a file that holds the key must not get the mark instead."""
    kept = (trusted.work / "leak.txt").read_text()
    rewritten = [
        calls(call("read", path="leak.txt")),
        calls(
            call("write", path="leak.txt", content=f"a\n{HIDDEN}\n"),
            call("edit", path="leak.txt", old_string=HIDDEN, new_string="b"),
            call("bash", command=f"echo '{HIDDEN}' > leak.txt"),
        ),
        Turn(text="I see"),
    ]
    with ModelServer(rewritten) as server:
        trusted.run("-p", "go", "--yolo", server=server, env=VARIABLES)
        first, *refused = results(server)
    assert HIDDEN in first
    assert len(refused) == 3 and all("stands for a secret" in text for text in refused)
    assert (trusted.work / "leak.txt").read_text() == kept


@pytest.mark.parametrize("key", ["default_model", "api_key", "[[providers]]\nname = 'x'\nbase_url"])
def test_an_error_or_a_warning_about_configuration_does_not_quote_a_secret(place: Place, key: str) -> None:
    """Somebody puts a key where it does not belong."""
    config = place.home / ".config/overt/overt.toml"
    config.parent.mkdir(parents=True)
    for value in (f'"{FORMS[0]}"', f'["{VALUES[0]}", 1]'):
        config.write_text(f"{key} = {value}\n")
        with ModelServer([Turn(text="fine")]) as server:
            done = place.run("-p", "go", server=server, env=VARIABLES)
            assert_clean(done.out + done.err, key)
        config.unlink()


def test_words_on_the_command_line_are_not_quoted_with_a_secret_in_them(place: Place) -> None:
    for words in ((f"--{FORMS[0]}",), ("-p", "x", "--max-turns", VALUES[0]), ("sessions", "show", FORMS[1])):
        done = place.run(*words, env=VARIABLES)
        assert done.code in (1, 2)
        assert_clean(done.out + done.err, "error")


def test_a_file_with_a_secret_in_its_name_can_be_undone_and_is_not_named_in_prose(trusted: Place) -> None:
    secret = VARIABLES["GITHUB_TOKEN"]
    (trusted.work / f"{secret}.txt").write_text("one\n")
    edit = call("edit", path=f"{secret}.txt", old_string="one", new_string="two")
    with ModelServer([calls(call("read", path=f"{secret}.txt"), edit), Turn(text="done")]) as server:
        assert trusted.run("run", "go", "--yolo", server=server, env=VARIABLES).out == "done\n"
    assert (trusted.work / f"{secret}.txt").read_text() == "two\n"
    assert trusted.run("undo", env=VARIABLES).code == 0
    assert (trusted.work / f"{secret}.txt").read_text() == "one\n"
    recorded = [entry.data for entry in load(str(trusted.session())).entries]
    assert next(event.path for event in recorded if isinstance(event, SnapshotTaken)) == f"{secret}.txt"
    assert [event.paths for event in recorded if isinstance(event, Restored)] == [(f"{HIDDEN}.txt",)]
    assert secret not in str([event for event in recorded if isinstance(event, UserSpoke)])


def test_a_secret_in_the_new_name_of_a_session_is_redacted(trusted: Place) -> None:
    with ModelServer([Turn(text="done")]) as server:
        trusted.run("run", "go", server=server, env=VARIABLES)
        name = f"deploy with {VARIABLES['GITHUB_TOKEN']}"
        assert trusted.run("sessions", "rename", id_of(str(trusted.session())), name, env=VARIABLES).code == 0
        assert_kept_nowhere(trusted, server)
    assert f'"title":"deploy with {HIDDEN}"' in trusted.session().read_text()
