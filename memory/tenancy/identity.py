"""Who calls, and where: a key and a namespace as they are stored, and whether they still stand.

A server may take up a call by the rows that it read for an earlier one, and prove them in a look of
the call's own, in whatever exchange comes next. `Proof` carries that: it knows what is to be read
again, and compares. Nothing may be answered before it has.
"""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault, NotFound, Unauthenticated
from memory.kernel.postgres.database import Rows, Statement
from memory.tenancy.entities import Call, Key, Namespace, Token
from memory.tenancy.store.keys import KeyStore, StoredKey, find_key, found_key, is_unrecorded
from memory.tenancy.store.moves import find_move, why_elsewhere
from memory.tenancy.store.namespaces import find_namespace, found_namespace


@dataclass(frozen=True, slots=True)
class Identity:
    """A key that its token opened, and the namespace that was asked for; None where there is none
    that the key reaches. `digest`: of the token; `rows`: what they were read from, all of it.
    """

    digest: bytes = field(repr=False)
    slug: str | None
    key: Key
    namespace: Namespace | None
    rows: Sequence[Rows] = field(repr=False)

    def is_usable(self, now: datetime) -> bool:
        """Whether a call may begin by it, unproven: it is alive, and its use was recorded."""
        ends = self.key.expires_at
        alive = self.key.revoked_at is None and (ends is None or now < ends)
        return alive and self.namespace is not None and not is_unrecorded(self.key, now)


class Outdated(Exception):
    """What a call was taken up by does not stand any more: who calls is to be asked anew."""


@dataclass(slots=True)
class Proof:
    """Whether what a call was taken up by still stands. `now`: the moment of the call."""

    identity: Identity
    now: datetime
    fresh: Identity | None = None
    """As it stands, once a look that began after the call has said so."""
    has_failed: bool = False

    @property
    def name(self) -> tuple[UUID, str | None]:
        """Equal for proofs that ask for the same rows."""
        return self.identity.key.id, self.identity.slug

    @property
    def statements(self) -> list[Statement]:
        """What is to be read again."""
        return _asked(*self.name)

    def judge(self, rows: Sequence[Rows]) -> None:
        """By the rows that these statements found; once."""
        if self.fresh is not None or self.has_failed:
            return
        if rows == self.identity.rows:
            self.fresh = self.identity
            return
        try:
            found = _read(self.identity.digest, self.identity.slug, rows, self.now)
        except MemoryFault:
            self.has_failed = True
            return
        self.has_failed = found.namespace is None
        self.fresh = None if self.has_failed else found


async def identify(engine: Engine, token: str, slug: str | None, now: datetime) -> Identity:
    """The key, and the namespace of that name, in one round trip.

    Raises Unauthenticated for any text that is no living key's; Moved or Unavailable where that
    namespace is served by another deployment, or on its way to one.
    """
    parsed = Token.parse(token)
    rows = await engine.database.exchange(_asked(parsed.key_id, slug))
    found = _read(parsed.digest(), slug, rows, now)
    if is_unrecorded(found.key, now):
        async with engine.database.transaction() as connection:
            await KeyStore(connection).record_use(found.key, now)
    return found


async def prove(engine: Engine, call: Call, proof: Proof | None) -> Call:
    """The call as its key and namespace stand; it is proven now, unless a look on its way did it.
    None: it was read for this call. Raises Outdated where it may not go on.
    """
    if proof is None:
        return call
    if proof.fresh is None and not proof.has_failed:
        proof.judge(await engine.database.exchange(proof.statements))
    if proof.fresh is None or proof.fresh.namespace is None:
        raise Outdated
    if proof.fresh is proof.identity:
        return call
    return replace(call, key=proof.fresh.key, namespace=proof.fresh.namespace)


def goes_on(before: Call, proven: Call) -> bool:
    """Whether a call that was taken up by the one goes on by the other: only what is counted has
    changed.
    """
    old, new = before.namespace, proven.namespace
    counted = replace(
        old,
        bank_version=new.bank_version,
        n_memories=new.n_memories,
        newest_known_at=new.newest_known_at,
    )
    used = replace(before.key, last_used_at=proven.key.last_used_at)
    return counted == new and used == proven.key


def _read(digest: bytes, slug: str | None, rows: Sequence[Rows], now: datetime) -> Identity:
    """What the statements of an identity found. Raises as `identify` does."""
    keys, *of_slug = rows
    key = require_match(found_key(keys), digest, now)
    namespace = found_namespace(of_slug[0]) if of_slug else None
    try:
        reached = None if namespace is None else require_reach(key, namespace)
    except NotFound:
        reached = None
    if reached is not None and (elsewhere := why_elsewhere(of_slug[1])) is not None:
        raise elsewhere
    return Identity(digest, slug, key, reached, rows)


def _asked(key_id: UUID, slug: str | None) -> list[Statement]:
    of_slug = [] if slug is None else [find_namespace(slug), find_move(slug)]
    return [find_key(key_id), *of_slug]


def require_reach(key: Key, namespace: Namespace) -> Namespace:
    """The namespace, for a key that reaches it. Raises NotFound for any other."""
    if key.namespace_id is not None and key.namespace_id != namespace.id:
        slug = namespace.slug
        raise NotFound(f"no such namespace: {slug}", code="namespace_not_found", field="namespace")
    return namespace


def require_match(found: StoredKey | None, digest: bytes, now: datetime) -> Key:
    """The key, where the token of this digest is its own and it lives."""
    if found is None or not hmac.compare_digest(digest, found.sha256):
        raise Unauthenticated("the key is not known")
    key = found.key
    key.require_alive(now)
    return key
