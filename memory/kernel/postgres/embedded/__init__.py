"""Our own Postgres: started, guarded and stopped by the process that serves.

`EmbeddedPostgres(data)` is the face: `start()` gives an `Address`, `stop()` ends it. Inside,

    account      who runs the binaries (a server refuses to run as root) and where they lie
    cluster      initdb, pg_ctl and what is left over after a crash
    secrets      passwords and addresses on disk, for the owner's eyes only
    bootstrap    the SQL that makes roles, database and extension; also for a server of your own
    supervisor   one owner for a data directory; restarts what dies
"""

from memory.kernel.postgres.embedded.supervisor import (
    Address,
    EmbeddedPostgres,
    as_superuser,
    reached,
)

__all__ = ["Address", "EmbeddedPostgres", "as_superuser", "reached"]
