"""Where webhooks may lead: what a namespace's admin names reaches nothing inside."""

import asyncio
import ipaddress
import socket
import threading

import pytest

from memory.kernel.errors import Rejected
from memory.webhooks.addresses import (
    ForbiddenTarget,
    may_reach,
    require_allowed,
    require_url,
    resolve,
)
from memory.webhooks.entities import WebhookDraft, fresh_secret, signing_key
from memory.webhooks.sending import sign

NOWHERE: frozenset[str] = frozenset()


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "0.0.0.0"),
        *("169.254.169.254", "::1", "fe80::1", "fd00::1", "::ffff:127.0.0.1", "224.0.0.1"),
        *("64:ff9b::7f00:1", "2002:7f00:1::", "192.0.2.1", "100.100.100.200", "::"),
        *("::127.0.0.1", "64:ff9b:1::7f00:1", "fec0::1"),
    ],
)
def test_an_address_that_is_not_public_is_not_reached(address: str) -> None:
    assert not may_reach(ipaddress.ip_address(address), named=False)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700:4700::1111", "64:ff9b::808:808"])
def test_a_public_address_is_reached(address: str) -> None:
    assert may_reach(ipaddress.ip_address(address), named=False)


@pytest.mark.parametrize(
    "address",
    ["169.254.169.254", "fe80::1", "::ffff:169.254.169.254", "fd00:ec2::254", "224.0.0.1", "::"],
)
def test_what_hands_out_credentials_is_reached_by_nobody(address: str) -> None:
    assert not may_reach(ipaddress.ip_address(address), named=True)
    assert may_reach(ipaddress.ip_address("127.0.0.1"), named=True)


@pytest.mark.parametrize(
    "url",
    [
        *("", "example.com", "ftp://example.com/", "https://", "https://u:p@example.com/"),
        *("https://example.com/#part", "https://exa mple.com/", "https://example.com:x/"),
        *("https://example.com:0/", "https://ex\u00e4mple.com/", "https://a/" + "b" * 2_000),
    ],
)
def test_what_is_no_address_of_a_server_is_refused(url: str) -> None:
    with pytest.raises(Rejected) as refused:
        require_url(url)
    assert refused.value.field == "url"


@pytest.mark.parametrize(
    "url",
    [
        *("http://example.com/", "https://127.0.0.1/", "https://[::1]/", "http://localhost:9/"),
        "https://169.254.169.254/latest/",
        *("https://0x7f000001/", "https://2130706433/", "https://017700000001/", "https://127.1/"),
        *("https://0x7f.0.0.1:8443/", "https://10.1/", "https://127.0.0.1./", "https://LOCALHOST/"),
        "https://hooks.localhost/",
    ],
)
def test_without_a_word_of_the_operator_only_https_and_public_addresses_go(url: str) -> None:
    with pytest.raises(Rejected):
        require_allowed(url, NOWHERE)


def test_a_name_is_no_spelling_of_an_address() -> None:
    for host in ("example.com", "0x7f000001.example.com", "8.8.8.8", "134744072"):
        require_allowed(f"https://{host}/hook", NOWHERE)


def test_an_operator_names_a_host_alone_or_with_its_port() -> None:
    require_allowed("http://127.0.0.1:9000/x", {"127.0.0.1"})
    require_allowed("http://HOOKS.internal:9000/x", {"hooks.internal:9000"})
    with pytest.raises(Rejected):
        require_allowed("http://hooks.internal/x", {"hooks.internal:9000"})
    with pytest.raises(Rejected):
        require_allowed("http://169.254.169.254/", {"169.254.169.254"})


async def test_a_name_is_looked_up_before_it_is_called_and_the_address_is_kept() -> None:
    with pytest.raises(ForbiddenTarget):
        await resolve("https://localhost/x", NOWHERE)
    with pytest.raises(ForbiddenTarget):
        await resolve("https://2130706433/x", NOWHERE)
    target = await resolve("http://127.0.0.1:81/x?y=1", {"127.0.0.1:81"})

    assert (target.url, target.authority) == ("http://127.0.0.1:81/x?y=1", "127.0.0.1:81")
    with pytest.raises(ForbiddenTarget) as unknown:
        await resolve("https://no-such-host.invalid/", NOWHERE)
    assert unknown.value.kind == "no_address"


def test_a_signature_is_that_of_standard_webhooks() -> None:
    """The vector that the specification publishes."""
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    signature = sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')

    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_AAAA", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"])
def test_a_secret_is_of_the_right_form_and_never_repeated(secret: str) -> None:
    with pytest.raises(Rejected) as refused:
        signing_key(secret)
    assert refused.value.field == "secret"
    assert "AAAA" not in refused.value.detail
    made = fresh_secret()
    assert len(signing_key(made)) == 32
    assert made not in repr(WebhookDraft("https://example.com/", ("ticket.open",), made))


async def test_names_whose_server_is_silent_hold_up_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    silent = threading.Event()

    def ask(*_: object, **__: object) -> list[object]:
        silent.wait()
        return []

    monkeypatch.setattr(socket, "getaddrinfo", ask)
    waiting = [asyncio.create_task(resolve(f"https://h{n}.example/", NOWHERE)) for n in range(64)]
    try:
        await asyncio.sleep(0)  # each has asked by then
        async with asyncio.timeout(60):
            assert await asyncio.to_thread(lambda: "served") == "served"
    finally:
        for task in waiting:
            task.cancel()
        silent.set()
        await asyncio.gather(*waiting, return_exceptions=True)
