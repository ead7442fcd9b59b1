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
HEADERS = [
    ("Cookie: sid=s3cr3t; theme=dark", "s3cr3t"),
    ("cookie: a=b; session=s3cr3t\r\nHost: example.org", "s3cr3t"),
    ("GET / HTTP/1.1\nCookie: csrftoken=x; sessionid=s3cr3t\nAccept: */*", "s3cr3t"),
    ("Set-Cookie: sid=s3cr3t; Path=/; HttpOnly; Secure; SameSite=Lax", "s3cr3t"),
    ('{"Cookie": "lang=en; sid=s3cr3t", "Accept": "*/*"}', "s3cr3t"),
    ("headers={'Cookie': 'sid=s3cr3t'}", "s3cr3t"),
    ('[["set-cookie", "sid=s3cr3t; Path=/"]]', "s3cr3t"),
    ('{\\"Cookie\\": \\"sid=s3cr3t; x=y\\"}', "s3cr3t"),
    ('document.cookie = "sid=s3cr3t; path=/"', "s3cr3t"),
    ("curl -H 'Cookie: sid=s3cr3t; x=y' https://example.org", "s3cr3t"),
    ('curl --cookie "sid=s3cr3t" https://example.org', "s3cr3t"),
    ("curl -s -b sid=s3cr3t https://example.org", "s3cr3t"),
    ("Authorization: Token s3cr3tvalue", "s3cr3t"),
    ("Authorization: s3cr3tvalue", "s3cr3t"),
    ("Proxy-Authorization: Basic czNjcjN0", "czNjcjN0"),
    ("proxy-authorization: NTLM czNjcjN0czNjcjN0", "czNjcjN0"),
    ('Authorization: Digest username="Mufasa", realm="x", response="s3cr3t"', "s3cr3t"),
    ("Authorization: AWS4-HMAC-SHA256 Credential=AK/2026, Signature=s3cr3t", "s3cr3t"),
    ("curl -H 'Authorization: Bearer s3cr3t-value' https://example.org", "s3cr3t"),
    ('curl -H "Authorization: Bearer s3cr3t.value" https://example.org', "s3cr3t"),
    ('subprocess.run(["curl", "-H", "Authorization: ApiKey s3cr3tvalue"])', "s3cr3t"),
    ('{"authorization": "token s3cr3tvalue"}', "s3cr3t"),
    ("X-Api-Key: s3cr3tvalue", "s3cr3t"),
    ("curl -H 'X-API-Key: s3cr3tvalue' https://example.org", "s3cr3t"),
    ("x-auth-token: s3cr3tvalue", "s3cr3t"),
    ("X-Amz-Security-Token: s3cr3tvalue", "s3cr3t"),
    ('{"X-Vault-Token": "s3cr3tvalue"}', "s3cr3t"),
]
HARMLESS = [
    "a cookie: flour, sugar and butter",
    "accept the cookie banner before the form is sent",
    "Authorization: ask the user before a refund is made",
    "the authorization, required for upgrades, was missing",
    "x-axis key: temperature",
    "git checkout -b fix/cookie-banner",
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


@pytest.mark.parametrize(("text", "secret"), HEADERS)
def test_headers_in_free_text_lose_their_value_and_keep_their_name(text: str, secret: str) -> None:
    said = redacted(text)

    assert secret not in said
    assert "(redacted)" in said
    assert said.partition("(redacted)")[0].strip() in text
    assert redacted(said) == said


def test_what_stands_beside_a_header_stays() -> None:
    sent = "curl -s -H 'Cookie: sid=s3cr3t; x=y' -H 'Accept: */*' https://example.org/path"

    assert redacted(sent) == (
        "curl -s -H 'Cookie: (redacted)' -H 'Accept: */*' https://example.org/path"
    )
    answer = "HTTP/1.1 403\nSet-Cookie: sid=s3cr3t\nX-Reason: no such booking"
    assert redacted(answer) == "HTTP/1.1 403\nSet-Cookie: (redacted)\nX-Reason: no such booking"


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
