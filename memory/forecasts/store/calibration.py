"""CalibrationStore: forecasts against what came true, counted in one namespace."""

from uuid import UUID

from sqlalchemy import column, text
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.forecasts.calibration_entities import CalibrationBin, ForecastScore
from memory.kernel.postgres.rows import RowMapper

_to_bin = RowMapper(CalibrationBin, map(column, CalibrationBin.__slots__))
_to_score = RowMapper(ForecastScore, map(column, ForecastScore.__slots__))


class CalibrationStore:
    """Reads of one namespace, each one statement. Only scores that stand are counted."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def bins(self, agent: str | None) -> list[CalibrationBin]:
        """Forecasts by tenths of probability, the least likely first; of one agent or of all."""
        values = {"ns": self._namespace_id, "agent": agent}
        rows = await self._connection.execute(_BINS, values)
        return [_to_bin(row) for row in rows.mappings()]

    async def scores(self, agent: str | None) -> list[ForecastScore]:
        """Scores by agent, by name; of one agent or of all."""
        values = {"ns": self._namespace_id, "agent": agent}
        rows = await self._connection.execute(_SCORES, values)
        return [_to_score(row) for row in rows.mappings()]


# Of two outcomes that exclude each other, one says all: counting both would double every forecast.
_BINS = text("""
    WITH named AS (
        SELECT p.id, CAST(e.value AS double precision) AS probability,
            CASE s.resolutions ->> e.key WHEN 'yes' THEN 1 ELSE 0 END AS truth,
            row_number() OVER (PARTITION BY p.id ORDER BY e.key DESC) AS place,
            count(*) OVER (PARTITION BY p.id) AS n,
            sum(CAST(e.value AS double precision)) OVER (PARTITION BY p.id) AS probabilities,
            sum(CASE s.resolutions ->> e.key WHEN 'yes' THEN 1 ELSE 0 END)
                OVER (PARTITION BY p.id) AS truths
        FROM prediction p
        JOIN prediction_score c ON c.prediction_id = p.id AND c.settlement_id = p.settlement_id
        JOIN prediction_revision r ON r.prediction_id = p.id AND r.number = c.revision
        JOIN settlement s ON s.id = c.settlement_id
        JOIN agent a ON a.id = p.agent_id
        CROSS JOIN LATERAL jsonb_each_text(r.probabilities) AS e
        WHERE p.namespace_id = :ns AND c.status = 'scored'
          AND s.resolutions ->> e.key IN ('yes', 'no')
          AND (CAST(:agent AS text) IS NULL OR a.name = :agent)
    ), counted AS (
        SELECT least(floor(probability * 10), 9) AS tenth, probability, truth FROM named
        WHERE NOT (n = 2 AND place = 2 AND truths = 1 AND abs(probabilities - 1) < 1e-6)
    )
    SELECT tenth / 10 AS lowest, count(*) AS n, avg(probability) AS probability,
        sum(truth) AS came_true
    FROM counted GROUP BY tenth ORDER BY tenth
""")


_SCORES = text("""
    SELECT a.name AS agent, count(*) AS n, avg(c.brier) AS brier,
        count(c.baseline_brier) AS n_baseline, avg(c.baseline_brier) AS baseline_brier,
        avg(c.brier) FILTER (WHERE c.baseline_brier IS NOT NULL) AS guided_brier,
        count(c.skill) AS n_skill, avg(c.skill) AS skill
    FROM prediction p
    JOIN prediction_score c ON c.prediction_id = p.id AND c.settlement_id = p.settlement_id
    JOIN agent a ON a.id = p.agent_id
    WHERE p.namespace_id = :ns AND c.status = 'scored'
      AND (CAST(:agent AS text) IS NULL OR a.name = :agent)
    GROUP BY a.name ORDER BY a.name
""")
