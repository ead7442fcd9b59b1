"""How large the database is on disk."""

from sqlalchemy import text

from memory.kernel.postgres.database import Database


async def database_bytes(database_url: str) -> int:
    database = Database(database_url)
    try:
        async with database.login() as connection:
            found = await connection.execute(text("SELECT pg_database_size(current_database())"))
            return int(found.scalar_one())
    finally:
        await database.close()
