"""The part of a search that looks for a task's words: who is best by BM25 among all that matched.

Word pieces stand with the vectors of both texts, raw terms with the version. Every text that may be
found is looked through, in the statement that takes the cosines, so that one moment gives both:
beside row-level security no index of arrays would be used, and how rare a word is has to be counted
among what this search may see. The database adds up in an order of its own; it gives every row that
is not below the last place by more than rounding, of equals the first by id, and the score is taken
again from the counts.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from memory.inference.fusion import WEIGHTS
from memory.inference.lexical import K1, SharedTerms, TermStatistics
from memory.inference.lexical import B as BY_LENGTH
from memory.retrieval.words import SharedWords, TaskWords

ROUNDING = 1e-9
"""Scores that differ by less than this share are one: sums in another order differ by less."""


def values_of_words(words: TaskWords | None) -> dict[str, object]:
    """The parameters of the statement."""
    if words is None:
        return {}
    pieces, raw = Counter(words.pieces), Counter(words.raw)
    return {
        "pieces": list(pieces),
        "piece_times": list(pieces.values()),
        "raws": list(raw),
        "raw_times": list(raw.values()),
    }


def _field(name: str, kind: str, texts: str) -> str:
    """Who holds which of the task's terms how often, how many hold it, and how long texts are."""
    return f"""
    {name}_text AS MATERIALIZED ({texts}),
    {name}_length AS MATERIALIZED (
        SELECT id, sum(coalesce(cardinality(terms), 0))::integer AS length
        FROM {name}_text GROUP BY id
    ),
    {name}_hit AS MATERIALIZED (
        SELECT id, term, count(*)::integer AS times
        FROM (SELECT id, unnest(terms) AS term FROM {name}_text) AS every
        WHERE term = ANY(%({name}s)s::{kind}[]) GROUP BY id, term
    ),
    {name}_holders AS MATERIALIZED (
        SELECT term, count(*)::integer AS holders FROM {name}_hit GROUP BY term
    ),"""  # noqa: S608 - assembled from constants; every value is a parameter


def _score(name: str, kind: str, weight: float) -> str:
    """Each term's part of the score, as `memory.inference.lexical` has it. What is the same for all
    rows stands in scalars, which are taken once.
    """
    size = "(SELECT size FROM everything)"
    total = f"(SELECT sum(length)::double precision FROM {name}_length)"  # noqa: S608 - a constant
    norm = f"{K1} * ({1 - BY_LENGTH} + l.length * ({BY_LENGTH} * {size} / {total}))"
    return f"""
        SELECT h.id, q.factor * h.times * {K1 + 1} / (h.times + {norm}) AS part
        FROM {name}_hit h
        JOIN {name}_length l ON l.id = h.id
        JOIN (
            SELECT f.term, {weight} * a.times
                * ln(1 + ({size} - f.holders + 0.5) / (f.holders + 0.5)) AS factor
            FROM {name}_holders f
            JOIN unnest(%({name}s)s::{kind}[], %({name}_times)s::integer[]) AS a (term, times)
                ON a.term = f.term
        ) AS q ON q.term = h.term
    """  # noqa: S608 - assembled from constants; every value is a parameter


_PIECES = """
        SELECT n.id, e.token_ids AS terms FROM near n
        JOIN embedding e ON e.memory_id = n.id AND e.version = n.version
        WHERE e.namespace_id = %(ns)s AND e.model_id = %(model)s
          AND e.field IN ('situation', 'lesson')"""


_RAW = """
        SELECT n.id, v.raw_terms AS terms FROM near n
        JOIN memory_version v ON v.memory_id = n.id AND v.version = n.version
        WHERE cardinality(%(raws)s::text[]) > 0"""


BEST_BY_WORDS = f"""
    {_field("piece", "integer", _PIECES)}
    {_field("raw", "text", _RAW)}
    everything AS (SELECT count(*)::double precision AS size FROM near),
    worded AS MATERIALIZED (
        SELECT id, sum(part) AS score FROM (
            {_score("piece", "integer", 1.0)} UNION ALL {_score("raw", "text", WEIGHTS.raw)}
        ) AS parts GROUP BY id
    ),
    last_worded AS MATERIALIZED (
        SELECT coalesce(
            (SELECT score FROM worded ORDER BY score DESC OFFSET %(last)s LIMIT 1), 0) AS score
    ),
    best_worded AS MATERIALIZED (
        (SELECT w.id FROM worded w CROSS JOIN last_worded l
         WHERE w.score > l.score * {1 + ROUNDING})
        UNION ALL
        (SELECT w.id FROM worded w CROSS JOIN last_worded l
         WHERE w.score BETWEEN l.score * {1 - ROUNDING} AND l.score * {1 + ROUNDING}
         ORDER BY w.id LIMIT %(last)s + 1)
    ),"""  # noqa: S608 - assembled from constants; every value is a parameter
"""Behind `near`, which says who may be found; before `head`."""


IN_HEAD = "UNION SELECT n.id, n.version FROM near n JOIN best_worded b ON b.id = n.id"
"""What joins the head."""


def _counts(name: str) -> str:
    """By an array of the head: a join would sort all that was hit."""
    return f"""(
            SELECT id, jsonb_object_agg(term, times) AS counts FROM {name}_hit
            WHERE id = ANY(ARRAY(SELECT id FROM head)) GROUP BY id
        )"""  # noqa: S608 - a constant


SHARED = f"""
    jsonb_build_object(
        'size', (SELECT size::integer FROM everything),
        'pieces', (SELECT sum(length) FROM piece_length),
        'piece_holders', (SELECT jsonb_object_agg(term, holders) FROM piece_holders),
        'raw', (SELECT sum(length) FROM raw_length),
        'raw_holders', (SELECT jsonb_object_agg(term, holders) FROM raw_holders),
        'rows', (
            SELECT jsonb_object_agg(
                h.id, jsonb_build_array(p.length, pc.counts, r.length, rc.counts))
            FROM head h
            LEFT JOIN piece_length p ON p.id = h.id
            LEFT JOIN raw_length r ON r.id = h.id
            LEFT JOIN {_counts("piece")} AS pc ON pc.id = h.id
            LEFT JOIN {_counts("raw")} AS rc ON rc.id = h.id
        )
    )"""  # noqa: S608 - assembled from constants
"""What of it the answer needs."""


def to_shared_words(
    asked: TaskWords, memory_ids: Collection[UUID], found: Mapping[str, Any]
) -> SharedWords:
    """As the database has it in JSON; of these memories, in their order."""
    rows = [(found["rows"] or {}).get(str(one)) or (None, None, None, None) for one in memory_ids]
    holders = {int(term): n for term, n in (found["piece_holders"] or {}).items()}
    by_piece = [{int(term): n for term, n in (counts or {}).items()} for _, counts, _, _ in rows]
    by_name = [counts or {} for _, _, _, counts in rows]
    return SharedWords(
        asked,
        TermStatistics(found["size"], found["pieces"] or 0, holders),
        TermStatistics(found["size"], found["raw"] or 0, found["raw_holders"] or {}),
        SharedTerms.of(list(Counter(asked.pieces)), [row[0] or 0 for row in rows], by_piece),
        SharedTerms.of(list(Counter(asked.raw)), [row[2] or 0 for row in rows], by_name),
    )
