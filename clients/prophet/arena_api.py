"""How events came out, as the arena's own API says (package prophet-arena)."""

from dataclasses import dataclass

import arena

from clients.prophet.resolutions import Resolution, ruled

NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class ArenaResolutions:
    """Asks for one event at a time; the endpoint is public and needs no key."""

    client: arena.Client

    def resolution_of(self, slug: str) -> Resolution | None:
        """Raises ArenaAPIError where the arena does not answer."""
        try:
            event = self.client.get_event(slug)
        except arena.ArenaAPIError as fault:
            if fault.status == NOT_FOUND:
                return None
            raise
        rulings = ruled({outcome.name: outcome.resolution for outcome in event.outcomes})
        return None if rulings is None else Resolution(rulings, event.resolved_at)


def opened(url: str | None) -> ArenaResolutions:
    """At this base address, else where the SDK is configured to look."""
    return ArenaResolutions(arena.Client(api_url=url))
