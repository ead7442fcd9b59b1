"""Which addresses outside may be posted to: public ones over https, and what the operator names.

A namespace's admin names the address, so a request to it must reach nothing that only this machine
reaches. The name is resolved here, each address that it has is looked at, and the connection goes
to one of those that were: a name that points elsewhere a moment later changes nothing.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from urllib.parse import SplitResult, urlsplit

from memory.kernel.errors import MemoryFault, Rejected

URL = 2_000
"""Characters of an address."""


PORTS = {"https": 443, "http": 80}


# Of clouds, where they are no link-local address: what answers there hands out credentials.
METADATA = frozenset(map(ipaddress.ip_address, ("100.100.100.200", "fd00:ec2::254", "192.0.0.192")))


LOOKUPS = ThreadPoolExecutor(max_workers=4, thread_name_prefix="webhook-names")
"""Names are looked up here: one whose server is silent holds no thread that retrievals need."""


IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


class ForbiddenTarget(MemoryFault):
    """Nothing may be posted there."""

    code = "forbidden_target"


@dataclass(frozen=True, slots=True)
class LookedUpUrl:
    """A URL whose host was resolved: the connection goes to `ip`, and speaks to `host`."""

    scheme: str
    host: str
    port: int
    ip: str
    path: str

    @property
    def url(self) -> str:
        """With the address that was looked at in the place of the name."""
        ip = f"[{self.ip}]" if ":" in self.ip else self.ip
        return f"{self.scheme}://{ip}:{self.port}{self.path}"

    @property
    def authority(self) -> str:
        """The header `Host`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"


def require_url(url: str) -> SplitResult:
    """Raises Rejected for what is no address of a server."""
    if len(url) > URL:
        raise Rejected(f"url has {len(url)} characters; the limit is {URL}", field="url", limit=URL)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    plain = url.isascii() and url.isprintable() and " " not in url
    if not plain or parts.scheme not in PORTS or not parts.hostname or port == 0:
        raise Rejected(
            "url must be an address such as https://example.com/hook",
            field="url",
            limit=list(PORTS),
        )
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise Rejected("url must have no user, password or fragment", field="url")
    return parts


def require_allowed(url: str, allowed: Collection[str]) -> None:
    """What can be said before the name is resolved: http, and an address that is not public, only
    where the operator names the host. Raises Rejected.
    """
    parts = require_url(url)
    if parts.scheme != "https" and not is_named(parts, allowed):
        raise Rejected(
            f"url must be https: the operator's MEMLIFT_WEBHOOK_HOSTS does not name "
            f"{parts.hostname}",
            field="url",
        )
    address = written_address(parts.hostname or "")
    if address is not None and not may_reach(address, named=is_named(parts, allowed)):
        raise Rejected(
            f"url must not lead to {address}: it is not public, and the operator's"
            " MEMLIFT_WEBHOOK_HOSTS does not name it",
            field="url",
        )


def written_address(host: str) -> IpAddress | None:
    """The address that a host spells out, in any form that a resolver takes for one (`127.1`,
    `0x7f000001`, `2130706433`, `localhost`); None for a name that is to be looked up.
    """
    bare = host.lower().removesuffix(".")
    if bare == "localhost" or bare.endswith(".localhost"):
        return ipaddress.IPv4Address("127.0.0.1")
    try:
        return ipaddress.ip_address(bare)
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(bare))
    except (OSError, UnicodeError):
        return None


def is_named(parts: SplitResult, allowed: Collection[str]) -> bool:
    """Whether the operator names the host, alone or with this port."""
    host = (parts.hostname or "").lower()
    return host in allowed or f"{host}:{parts.port or PORTS[parts.scheme]}" in allowed


def may_reach(address: IpAddress, *, named: bool) -> bool:
    """Nobody reaches link-local addresses and those of metadata; only what is named, others that
    are not public.
    """
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
        if inner is not None:
            return may_reach(inner, named=named)
        # NAT64: the last four bytes are an address of IPv4.
        if address in ipaddress.ip_network("64:ff9b::/96"):
            return may_reach(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF), named=named)
    if address.is_link_local or address.is_multicast or address.is_unspecified:
        return False
    if address in METADATA:
        return False
    if named:
        return True
    # Of IPv6, `is_global` holds for some of what is reserved or local to a site: NAT64 of a
    # network's own (RFC 8215), and IPv4 in the last bytes alone.
    is_local = isinstance(address, ipaddress.IPv6Address) and address.is_site_local
    return address.is_global and not address.is_reserved and not is_local


async def resolve(url: str, allowed: Collection[str]) -> LookedUpUrl:
    """Where a request is to go. Raises ForbiddenTarget where one of its addresses is none to be
    reached, or the name has none.
    """
    parts = require_url(url)
    named = is_named(parts, allowed)
    if parts.scheme != "https" and not named:
        raise ForbiddenTarget("http is not allowed for this host", code="https_only")
    host, port = parts.hostname or "", parts.port or PORTS[parts.scheme]
    loop = asyncio.get_running_loop()
    try:
        look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        found = await loop.run_in_executor(LOOKUPS, look_up)
    except (OSError, UnicodeError):
        raise ForbiddenTarget("the name has no address", code="no_address") from None
    addresses = [ipaddress.ip_address(str(one[4][0]).partition("%")[0]) for one in found]
    if not addresses or not all(may_reach(one, named=named) for one in addresses):
        raise ForbiddenTarget("the name leads to an address that is not public")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return LookedUpUrl(parts.scheme, host, port, str(addresses[0]), path)
