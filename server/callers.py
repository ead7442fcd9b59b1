"""Callers before anyone knows them: where they come from, and how often they may guess.

A key or a session that was seen to be good goes straight to the database, which decides each time
anew. One that nobody has seen costs its address a token, and few of them are looked up at once: a
flood of them takes neither the pool nor the time of those who are known. A token with the id of a
living key is not counted with them: after a restart nobody was seen yet. What guesses at that key
cost is counted apart, by address and key. One that was found to be no good is refused from memory
for a while, as is a token whose id no living key has.

A login is looked up however much its address has guessed, for what it brings may be good: then it
waits for a connection that all such logins share, and few of one address wait.
"""

import asyncio
import ipaddress
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from time import monotonic
from typing import TypeVar
from uuid import UUID

from starlette.datastructures import Headers
from starlette.types import Scope

from memory.kernel.errors import Overloaded, Unauthenticated, Unavailable
from memory.tenancy.entities import Token
from memory.tenancy.identity import Identity
from server.limits import MAX_CALLERS, Limits
from server.living_keys import LivingKeys

Found = TypeVar("Found")

LINK, SESSION = "link ", "session "
"""Before what a link or a cookie brings: a key that stands there by mistake is no link and no
session, and is as good a key as before.
"""
FORWARDED = ("x-forwarded-for", "forwarded")
# Connections that may be out for looking up what nobody has seen, and as many again for living keys
# that nobody has seen yet; and callers that may wait for it, as many again for each of these keys.
LOOKED_UP_AT_ONCE = 2
WAITING = 64
REFUSED_SECONDS = 60.0
# Logins of one address that may wait where it has guessed too often.
LOGINS_WAITING = 8
# Keys of namespaces whose rows are kept, some kilobytes each.
MOST_KNOWN = 1_000
# A customer of a network holds a whole IPv6 prefix: its addresses are one caller.
PREFIX_BITS = 64


def address_of(scope: Scope, proxies: int) -> str:
    """Where a request comes from: the peer, or what the outermost of `proxies` trusted proxies
    saw. What a caller writes into the header itself stands further left and is not believed.
    """
    client: tuple[str, int] | None = scope.get("client")
    peer = client[0] if client else ""
    if proxies:
        named = ",".join(Headers(scope=scope).getlist("x-forwarded-for")).split(",")
        if len(named) >= proxies and (seen := _network(named[-proxies].strip())) is not None:
            return seen
    return _network(peer) or peer


def _network(text: str) -> str | None:
    """The address, or the network that stands for one caller; None where it is no address."""
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    if found.is_loopback:
        return str(found)
    return str(ipaddress.ip_network((found, PREFIX_BITS), strict=False))


def is_near(scope: Scope) -> bool:
    """Whether a program of this machine asks, and for itself: a proxy beside the server speaks for
    the whole world, and says so.
    """
    client: tuple[str, int] | None = scope.get("client")
    headers = Headers(scope=scope)
    if client is None or any(name in headers for name in FORWARDED):
        return False
    try:
        return ipaddress.ip_address(client[0]).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a secret is no good, and how long that is repeated from memory."""

    detail: str
    code: str
    until: float


class KnownIdentities:
    """Who called lately, and where, as it was stored when it was read; no call is answered by it
    before it is proven to stand (`memory.tenancy.identity`).
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[bytes, str], Identity] = OrderedDict()

    def find(self, token: str, slug: str, now: datetime) -> Identity | None:
        """Where a call may begin by it."""
        address = _digest(token), slug
        known = self._kept.get(address)
        if known is None or not known.is_usable(now):
            return None
        self._kept.move_to_end(address)
        return known

    def forget(self, known: Identity) -> None:
        """It does not stand any more, or is about to be read again."""
        if known.slug is not None:
            self._kept.pop((known.digest, known.slug), None)

    def keep(self, found: Identity) -> None:
        if found.slug is None or found.namespace is None:
            return
        address = found.digest, found.slug
        self._kept[address] = found
        self._kept.move_to_end(address)
        if len(self._kept) > MOST_KNOWN:
            self._kept.popitem(last=False)


class Callers:
    """Which secrets (keys, ids of sessions) were seen to be good, and which were not. Only their
    hashes are held. `known`: who they were when they were looked up last.
    """

    def __init__(self, rate: float, burst: int) -> None:
        self.living = LivingKeys()
        self.known = KnownIdentities()
        refusal = "unknown keys are looked up for one address"
        self._guesses = Limits(rate, burst, refusal)
        refusal = "wrong secrets of one key are looked up for one address"
        self._guesses_at_keys = Limits(rate, burst, refusal)
        self._good: OrderedDict[bytes, None] = OrderedDict()
        self._bad: OrderedDict[bytes, Refusal] = OrderedDict()
        self._lookups = asyncio.Semaphore(LOOKED_UP_AT_ONCE)
        self._lookups_of_keys = asyncio.Semaphore(LOOKED_UP_AT_ONCE)
        self._lookups_of_logins = asyncio.Semaphore(1)
        self._logins_waiting: Counter[str] = Counter()
        self._waiting: Counter[UUID | None] = Counter()
        self._under_way: dict[bytes, asyncio.Event] = {}

    def knows(self, secret: str) -> bool:
        """Whether it was good when it was last looked up, or names a living key."""
        return _digest(secret) in self._good or self._living_id(secret) is not None

    async def look_up_login(
        self, secret: str, address: str, look: Callable[[], Awaitable[Found]], full: Overloaded
    ) -> Found:
        """As `look_up`, for an address that has guessed too often. Raises `full` for what is no
        good, and where too many of its logins wait.
        """
        digest = _digest(secret)
        try:
            self._require_unrefused(digest)
            if (named := _named_key(secret)) is not None:
                self.living.require_possible(named, datetime.now(UTC))
            with self._waiting_logins(address, full):
                async with self._lookups_of_logins:
                    return await self._judged(digest, look)
        except Unauthenticated as fault:
            raise full from fault

    @contextmanager
    def _waiting_logins(self, address: str, full: Overloaded) -> Generator[None]:
        if self._logins_waiting[address] >= LOGINS_WAITING:
            raise full
        self._logins_waiting[address] += 1
        try:
            yield
        finally:
            self._logins_waiting[address] -= 1
            if not self._logins_waiting[address]:
                del self._logins_waiting[address]

    async def look_up(
        self, secret: str, address: str, look: Callable[[], Awaitable[Found]]
    ) -> Found:
        """What `look` finds for a secret. Raises Unauthenticated for one that is no good,
        Overloaded for an address that guesses, Unavailable where too many wait.
        """
        digest = _digest(secret)
        if digest not in self._good:
            self._require_unrefused(digest)
            if (named := _named_key(secret)) is not None:
                self.living.require_possible(named, datetime.now(UTC))
            key_id = self._living_id(secret)
            with self._waiting_for(key_id):
                # Several callers may have brought the same one: the first finds out for all.
                if (first := self._under_way.get(digest)) is not None:
                    await first.wait()
                if digest not in self._good:
                    self._require_unrefused(digest)
                    return await self._counted(digest, address, key_id, look)
        self._good.move_to_end(digest)
        return await self._judged(digest, look)

    def _living_id(self, secret: str) -> UUID | None:
        """The id of the living key that a token names; None for what may be no living key's."""
        key_id = _named_key(secret)
        return key_id if key_id is not None and key_id in self.living else None

    async def _counted(
        self,
        digest: bytes,
        address: str,
        key_id: UUID | None,
        look: Callable[[], Awaitable[Found]],
    ) -> Found:
        """What `look` finds, at the expense of the address where it is no good."""
        limits = self._guesses if key_id is None else self._guesses_at_keys
        lookups = self._lookups if key_id is None else self._lookups_of_keys
        guess = (address, key_id)
        limits.take(guess, monotonic())
        known = self._under_way[digest] = asyncio.Event()
        try:
            async with lookups:
                found = await self._judged(digest, look)
        finally:
            known.set()
            if self._under_way.get(digest) is known:
                del self._under_way[digest]
        limits.give_back(guess)
        return found

    @contextmanager
    def _waiting_for(self, key_id: UUID | None) -> Generator[None]:
        if self._waiting[key_id] >= WAITING:
            raise Unavailable(
                "too many unknown keys are being looked up", code="server_busy", retry_after=1
            )
        self._waiting[key_id] += 1
        try:
            yield
        finally:
            self._waiting[key_id] -= 1
            if not self._waiting[key_id]:
                del self._waiting[key_id]

    async def _judged(self, digest: bytes, look: Callable[[], Awaitable[Found]]) -> Found:
        try:
            found = await look()
        except Unauthenticated as fault:
            self._good.pop(digest, None)
            self._bad[digest] = Refusal(fault.detail, fault.kind, monotonic() + REFUSED_SECONDS)
            _shorten(self._bad)
            raise
        self._good[digest] = None
        _shorten(self._good)
        return found

    def _require_unrefused(self, digest: bytes) -> None:
        refusal = self._bad.get(digest)
        if refusal is None:
            return
        if monotonic() < refusal.until:
            raise Unauthenticated(refusal.detail, code=refusal.code)
        del self._bad[digest]


def _shorten(known: OrderedDict[bytes, None] | OrderedDict[bytes, Refusal]) -> None:
    if len(known) > MAX_CALLERS:
        known.popitem(last=False)


def _named_key(secret: str) -> UUID | None:
    """The key that a token names; None where it is no token, as the id of a session is none."""
    try:
        return Token.parse(secret).key_id
    except Unauthenticated:
        return None


def _digest(secret: str) -> bytes:
    return sha256(secret.encode("utf-8", "backslashreplace")).digest()
