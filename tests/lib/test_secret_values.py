"""Which variables are secrets: by whole words of their names, and only values that stand for nothing else."""

import pytest

from overt.lib.redaction.secret_values import says_secret, secret_values


@pytest.mark.parametrize(
    "name",
    [
        *(
            "OPENAI_API_KEY",
            "API_KEY",
            "awsSecretKey",
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_TOKEN",
            "DB_PASSWORD",
            "my-token",
        ),
        *("PGPASSWORD_SECRET", "npm_config_authToken", "GPG_PASSPHRASE", "GITHUB_PAT", "APIKEY", "SECRETS", "KEY"),
    ],
)
def test_a_name_says_that_it_holds_a_secret(name: str) -> None:
    assert says_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        *("", "HOME", "PATH", "KEYBOARD", "MONKEY", "TOKENIZERS_PARALLELISM", "SECRETARY", "keyring", "OVERT_MODEL"),
        *("TOKEN_FILE", "SECRET_NAME", "KEY_SIZE", "PASSWORD_STORE", "SSH_KEY_PATH", "_"),
    ],
)
def test_a_name_says_nothing_of_the_kind(name: str) -> None:
    assert not says_secret(name)


def test_words_and_numbers_that_stand_everywhere_are_no_secrets() -> None:
    common = (
        "true",
        "postgres",
        "password",
        "12345678",
        "1234",
        "",
        "ctrl-a",
        "/root/.ssh/id_rsa",
        "~/.key-1",
        "./key-1",
    )
    assert secret_values({f"V{number}_KEY": value for number, value in enumerate(common)}) == ()


def test_values_that_look_made_up_are() -> None:
    made = {
        "A_TOKEN": "hunter22",
        "B_SECRET": "correcthorsebatterystaple",
        "C_PASSWORD": " p@ss word 1 ",
        "D_KEY": "12345678901234567890",
        "HOME": "/home/nobody-1",
        "PLAIN": "hunter2-visible",
    }
    assert secret_values(made) == ("hunter22", "correcthorsebatterystaple", "p@ss word 1", "12345678901234567890")


def test_a_password_in_an_address_is_one_whatever_its_variable_is_called() -> None:
    assert secret_values({"DATABASE_URL": "postgres://app:s3cretpw9@db:5432/x", "HUB": "https://user@host"}) == (
        "s3cretpw9",
    )


def test_the_lines_of_a_long_secret_are_secrets_too() -> None:
    line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"
    value = f"-----BEGIN PRIVATE KEY-----\n{line}\nshort\n-----END PRIVATE KEY-----"
    assert secret_values({"DEPLOY_KEY": value}) == (value, line)


def test_the_secrets_inside_credentials_in_json_are_secrets_too() -> None:
    held = '{"type": "service_account", "private_key": "line one 1\\nline two 2", "id": 7}'
    assert secret_values({"CLOUD_CREDENTIALS": held}) == (held, "line one 1\nline two 2")
    assert secret_values({"CLOUD_CREDENTIALS": "{not json at all"}) == ("{not json at all",)
