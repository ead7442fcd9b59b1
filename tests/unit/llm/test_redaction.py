"""Secrets are taken out by their form; what is left says that something was there."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.kernel.ids import new_id
from memory.llm.redaction import redacted
from memory.tenancy.entities import Token

SECRETS = [
    "ml_" + "0a" * 16 + "_" + "1b" * 32,
    "sk-" + "Ab1" * 8,
    "sk-proj-" + "Ab1_" * 8,
    "AKIA" + "A1B2" * 4,
    "ghp_" + "a1" * 18,
    "github_pat_" + "a1" * 20,
    "glpat-" + "a1" * 10,
    "xoxb-" + "1234567890-abc",
    "AIza" + "a1B" * 12,
    "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nMIIabc and then it breaks off",
]
NAMED = [
    ("Authorization: Bearer abc.def-123456", "abc.def"),
    ("authorization: basic dXNlcjpwYXNz", "dXNl"),
    ("postgres://memlift:hunter2@db:5432/x", "hunter2"),
    ("password=hunter2", "hunter2"),
    ("PASSWORD: 'hunter two'", "hunter"),
    ('{"password": "hunter two", "x": 1}', "hunter"),
    ('{\\"api_key\\": \\"hunter2\\"}', "hunter2"),
    ("export DB_PASSWORD=hunter2;", "hunter2"),
    ("OPENAI_API_KEY=hunter2", "hunter2"),
    ("client-secret => hunter2", "hunter2"),
    ("token=abcdef1234567890", "abcdef"),
    ("the password is hunter2.", "hunter2"),
]
HARMLESS = [
    "start from the base rate of the month",
    "max_tokens: 1000",
    "the token count is 512",
    "ask-me-anything about the risk-adjusted-return",
    "a bearer of news",
    "the password is required",
    "see https://example.org:8080/path",
]


@pytest.mark.parametrize("secret", SECRETS, ids=lambda secret: secret[:12])
def test_a_secret_with_a_form_of_its_own_goes(secret: str) -> None:
    assert redacted(f"use {secret} here") in {"use (redacted) here", "use (redacted)"}


@pytest.mark.parametrize(("text", "secret"), NAMED)
def test_a_secret_behind_its_name_goes_and_the_name_stays(text: str, secret: str) -> None:
    said = redacted(text)

    assert secret not in said
    assert said.startswith(text[:3])
    assert "(redacted)" in said


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redacted(text) == text


def test_our_own_tokens_are_among_the_secrets() -> None:
    token = str(Token.fresh(new_id()))

    assert redacted(f"ml: {token}") == "ml: (redacted)"


def test_json_stays_json() -> None:
    text = json.dumps({"password": "a b", "lesson": "x", "api_key": "k"})

    assert json.loads(redacted(text)) == {
        "password": "(redacted)",
        "lesson": "x",
        "api_key": "(redacted)",
    }


@given(st.lists(st.one_of(st.text(max_size=20), st.sampled_from(SECRETS + HARMLESS)), max_size=6))
def test_doing_it_again_changes_nothing(parts: list[str]) -> None:
    once = redacted(" ".join(parts))

    assert redacted(once) == once
