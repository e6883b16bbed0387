"""Secrets do not survive, however a text is cut, and ordinary text does."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overt.lib.redaction.redact import HIDDEN, LONGEST, Redactor

BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
KEY_BLOCK = f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\nMIIE\nab==\n-----END RSA PRIVATE KEY-----"
KEY_LINES = KEY_BLOCK.split("\n")
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"

KEYS = (
    "sk-proj-abcDEF1234567890abcd",
    "sk-ant-api03-Zx9_kk-0aAbBcCdDeEfF",
    "sk-or-v1-0123456789abcdef0123456789abcdef",
    "ghp_abcdefghijklmnopqrst0123456789",
    "github_pat_11ABCDEFG0abcdefghij_klmnopqrstuv",
    "glpat-aB3dE6gH9jK2mN5pQ8sT",
    "AKIAIOSFODNN7EXAMPLE",
    "xoxb-123456789012-abcdefghij",
    "xapp-1-A0123456789-0123456789012-abcdef",
    "AIza" + "a1" * 18,
    "ya29.a0AfH6SMBxabcdefghijklmnopqrstuvwxyz12",
    "GOCSPX-abcdefghijklmnopqrstuvwxyz12",
    "sk_live_51Habcdefghijklmnop",
    "rk_test_51Habcdefghijklmnop",
    "whsec_abcdefghijklmnopqrstuvwx",
    "npm_abcdefghijklmnopqrstuvwxyz0123456789",
    "pypi-AgEIcHlwaS5vcmcCJDAwMDAwMDAwLTAwMDAtMDAwMC0wMDAw",
    "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH",
    "gsk_abcdefghijklmnopqrstuvwxyz0123456789abcd",
    "SG.abcdefghijklmnop12.abcdefghijklmnopqrstuvwxyz0123456789abcd",
    "dop_v1_" + "0a" * 32,
    "shpat_" + "0a" * 16,
    "dckr_pat_abcdefghij-klmnopqrst",
    "AGE-SECRET-KEY-1" + "QP0Z" * 14,
    JWT,
    KEY_BLOCK,
)


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key[:12])
def test_a_key_of_a_known_form_is_hidden_wherever_it_stands(key: str) -> None:
    for before, after in (("", ""), ("use ", " now"), ("key=", "\n"), ('{"k": "', '"}'), ("中文", "。"), ("x-", ",")):
        assert Redactor().clean(before + key + after) == before + HIDDEN + after


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("key hunter2-secret.", "key *."),
        ("hunter2-secret-longer", "*"),
        ("Authorization: Bearer abc.def-123456", "Authorization: Bearer *"),
        ("authorization: bearer\tabcdef123456789", "authorization: bearer\t*"),
        ('aws_secret_access_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"', 'aws_secret_access_key = "*"'),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "AWS_SECRET_ACCESS_KEY=*"),
        ("postgres://app:s3cretpw9@db/x", "postgres://app:*@db/x"),
        ("https://:ghost99word@host", "https://:*@host"),
        (f"a\n{KEY_BLOCK}\nb", "a\n*\nb"),
        (f"-----BEGIN PRIVATE KEY-----\n{BODY}\ncut. off", "*. off"),
        (f"a:1:{KEY_LINES[0]}\na:2:{KEY_LINES[1]}\na:3:{KEY_LINES[-1]}\nb", "a:1:*\nb"),
        (f"+ '{KEY_LINES[0]}\\n' +\n+ '{KEY_LINES[1]}\\n' +\n+ '{KEY_LINES[-1]}'", "+ '*'"),
        (f"-----BEGIN PRIVATE KEY-----\n{BODY}\nthen the rest of it", "*then the rest of it"),
        (f"     1\t-----BEGIN PRIVATE KEY-----\n     2\t{BODY}", "     1\t*"),
        (f'"-----BEGIN EC PRIVATE KEY-----\\n{BODY}\\n-----END EC PRIVATE KEY-----\\n"', '"*\\n"'),
    ],
)
def test_a_secret_is_replaced(text: str, expected: str) -> None:
    redactor = Redactor(["hunter2-secret", "hunter2-secret-longer", "\n"])
    assert redactor.clean(text) == expected.replace("*", HIDDEN)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a task-force of risk-takers",
        "sk-learn",
        "sk-toggleable__content-label",
        "sk-estimator-doc-link-very-long-class-name",
        "the bearer of news; Bearer authentication-scheme",
        "BEGIN PRIVATE KEY is a header",
        "It starts with -----BEGIN PRIVATE KEY----- and then comes the end -----END PRIVATE KEY-----",
        "Begin with `-----BEGIN PRIVATE KEY-----`, then the body, then the end.",
        "-----BEGIN CERTIFICATE-----\nMIIBszCCARygAwIBAgIJ\n-----END CERTIFICATE-----",
        "MAKIAVELLI",
        "short",
        "postgres://user:password@localhost:5432/db and http://user:${PASS}@host",
        "git@github.com:me/repo.git https://example.com/@user",
        "def hf_hub_download_with_retries_and_progress(token, key, secret, password): ...",
        "token = get_token(api_key=os.environ['API_KEY'], password=None)",
        "npm_config_registry npm_package_version_something_that_is_rather_long",
        "a deadbeefdeadbeefdeadbeefdeadbeefdeadbeef commit, sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
        "eyJ is how a JWT begins; eyJhbGciOiJIUzI1NiJ9.notatoken",
        "pypi-publish-with-trusted-publishing-in-github-actions",
        "glpat-is-the-prefix-of-tokens-of-gitlab",
    ],
)
def test_harmless_text_is_left_alone(text: str) -> None:
    assert Redactor(["short"]).clean(text) == text


def test_our_own_sources_are_left_alone() -> None:
    """What hides keys speaks of keys all the time."""
    for name in (
        "lib/redaction/redact.py",
        "lib/redaction/secret_values.py",
        "workspace/environment.py",
        "providers/credentials.py",
    ):
        with open(f"src/overt/{name}", encoding="utf-8") as file:
            text = file.read()
        assert Redactor().clean(text) == text


def test_a_value_is_hidden_as_json_spells_it_too() -> None:
    redactor = Redactor(['pa"ss\\wörd/x'])
    for spelled in ('pa"ss\\wörd/x', 'pa\\"ss\\\\wörd/x', 'pa\\"ss\\\\w\\u00f6rd/x', 'pa\\"ss\\\\wörd\\/x'):
        assert redactor.clean(f"<{spelled}>") == f"<{HIDDEN}>"


def test_what_is_learned_later_is_hidden_from_then_on() -> None:
    redactor = Redactor()
    assert redactor.clean("the-late-one") == "the-late-one"
    redactor.learn("the-late-one")
    assert redactor.clean("the-late-one") == HIDDEN


def test_a_redactor_does_not_show_what_it_hides() -> None:
    assert repr(Redactor(["hunter2-secret"])) == "Redactor(1 secrets)"


# ── in pieces ────────────────────────────────────────────────────────────────────────────────────────────

SECRETS = ("hunter2-secret", "two words 99", "multi\nline-value-1", "sk-hunter")


def same(shown: str, whole: str) -> bool:
    """But for two characters that may have passed before their secret was known."""
    one, other = shown.split(HIDDEN), whole.split(HIDDEN)
    return len(one) == len(other) and all(
        found.startswith(wanted) and len(found) <= len(wanted) + (2 if at < len(one) - 1 else 0)
        for at, (found, wanted) in enumerate(zip(one, other, strict=True))
    )


def streamed(pieces: list[str]) -> str:
    flow = Redactor(SECRETS).flow()
    return "".join([*(flow.feed(piece) for piece in pieces), flow.end()])


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("secret", [*KEYS, *SECRETS, f"Bearer {JWT}", "https://me:pass99word@host/x"])
def test_a_secret_in_pieces_does_not_slip_through(secret: str, size: int) -> None:
    text = f"before {secret} after"
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert same(streamed(pieces), Redactor(SECRETS).clean(text))
    assert secret not in streamed(pieces)


PARTS = st.sampled_from(
    [
        *KEYS,
        *SECRETS,
        *(key[:20] for key in KEYS),
        *("hunter2", "-secret", "two ", "words", "multi\n", "sk-", "s", "-----", "-----BEGIN", " RSA PRIVATE KEY-----"),
        *(
            "bearer ",
            "Bearer",
            "aws_secret_access_key",
            "SecretAccessKey",
            ": ",
            "=",
            "http",
            "://",
            "user:",
            "@",
            "/",
            "eyJ",
        ),
        *(" ", "\n", ".", "`", '"', "中文", "word ", "x", "0", "_", "\\", "\\n", "Aa1/Bb2+" * 5, BODY),
        *(*KEY_LINES, "a:1:", "and so on ", "the "),
    ]
)


@settings(deadline=None, max_examples=400)
@given(st.lists(PARTS, max_size=12), st.data())
def test_however_a_text_is_cut_what_comes_out_is_what_the_whole_would_be(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=20)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert same(streamed(pieces), Redactor(SECRETS).clean(text))


def test_ordinary_text_passes_at_once() -> None:
    flow = Redactor(SECRETS).flow()
    pieces = [
        "The ",
        "quick brown",
        " fox,",
        " 中文",
        "\n",
        "def main():",
        "\n    ",
        "return 1\n",
        "see https://x.org/a ",
    ]
    assert [flow.feed(piece) for piece in pieces] == pieces


def test_one_letter_more_is_not_waited_for() -> None:
    flow = Redactor(SECRETS).flow()
    pieces = ["after a", " b", " word s", "o", "\n-", "- h", "u", "g", " the", " en", "d"]
    assert [flow.feed(piece) for piece in pieces] == pieces


def test_what_waits_comes_with_the_next_piece_that_decides() -> None:
    flow = Redactor(SECRETS).flow()
    assert [flow.feed("hunt"), flow.feed("ing "), flow.feed("hunter2-sec"), flow.feed("ond"), flow.end()] == [
        *("", "hunting ", "", "hunter2-second", ""),
    ]


def test_a_stream_that_breaks_off_inside_a_value_does_not_show_its_beginning() -> None:
    flow = Redactor(SECRETS).flow()
    assert flow.feed("it is hunter2-se") == "it is "
    assert flow.end(broken=True) == HIDDEN
    assert (flow.feed("hunt"), flow.end(broken=True)) == ("", "hunt")


def test_what_waits_is_bounded() -> None:
    flow = Redactor(SECRETS).flow()
    assert flow.feed("-----BEGIN PRIVATE KEY-----") == ""
    shown = "".join(flow.feed("Q" * 512) for _ in range(LONGEST // 512 + 1))
    assert shown == HIDDEN
