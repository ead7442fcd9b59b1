"""The rows that receipts are written as."""

from collections.abc import Sequence
from uuid import UUID

from memory.kernel.postgres.database import Statement, insert_rows
from memory.receipts.entities import Item, Receipt
from memory.receipts.guideline_entities import without_past_error
from memory.receipts.tables import retrieval, retrieval_item


def write_receipts(namespace_id: UUID, receipts: Sequence[Receipt]) -> list[Statement]:
    """Writes receipts with their items."""
    rows = [_row(namespace_id, one) for one in receipts]
    items = [_item_row(namespace_id, one, item) for one in receipts for item in one.items]
    written = [insert_rows(retrieval, rows)]
    return [*written, insert_rows(retrieval_item, items)] if items else written


def _row(namespace_id: UUID, receipt: Receipt) -> dict[str, object]:
    error = receipt.past_error
    guideline = without_past_error(receipt.guideline, error)
    return {
        "id": receipt.retrieval_id,
        "namespace_id": namespace_id,
        "agent_id": receipt.agent_id,
        "agent_model": receipt.agent_model,
        "own_information": receipt.own_information,
        "task_id": receipt.task_id,
        "category_id": receipt.category_id,
        "subcategory_id": receipt.subcategory_id,
        "confidence": receipt.confidence,
        "purpose": receipt.purpose,
        "arm": receipt.arm,
        "propensity": receipt.propensity,
        "eligible": receipt.eligible,
        "reason": receipt.reason,
        "format": receipt.format,
        "k": receipt.k,
        "max_tokens": receipt.max_tokens,
        "bank_version": receipt.bank_version,
        "search": None if receipt.search is None else receipt.search.stored(),
        "past_error": None if error is None else error.stored(),
        "as_of": receipt.as_of,
        "model_id": receipt.model_id,
        "raw_gate": receipt.gates.raw,
        "score_floor": receipt.gates.score,
        "ranker": receipt.ranker,
        "rankers": dict(receipt.rankers),
        "same_rankers": None if receipt.same_rankers is None else list(receipt.same_rankers),
        "passed_over": None if receipt.passed_over is None else list(receipt.passed_over),
        "all_rankers": receipt.all_rankers,
        "strength": receipt.strength,
        "policy": receipt.policy,
        "compiler": receipt.compiler,
        "counter": guideline.counter,
        "lines": [
            {
                "text": line.text,
                "memory_ids": [str(i) for i in line.memory_ids],
                "other": line.other,
            }
            for line in guideline.lines
        ],
        "text": guideline.text,
        "tokens": guideline.tokens,
        "cut": [{"memory_id": str(c.memory_id), "reason": c.reason} for c in guideline.cut],
        "timings": receipt.timings.by_step(),
        "known_at": receipt.known_at,
        "recorded_at": receipt.recorded_at,
        "expires_at": receipt.expires_at,
        "key_id": receipt.key_id,
        "trace_id": receipt.trace_id,
    }


def _item_row(namespace_id: UUID, receipt: Receipt, item: Item) -> dict[str, object]:
    return {
        "retrieval_id": receipt.retrieval_id,
        "memory_id": item.memory_id,
        "namespace_id": namespace_id,
        "version": item.version,
        "similarity": item.similarity,
        "relevance": item.relevance,
        "effective_weight": item.effective_weight,
        "ranking_weight": item.ranking_weight,
        "score": item.score,
        "scores": item.scores,
        "rank": item.rank,
        "propensity": item.propensity,
        "served": item.served,
        "cited": item.cited,
        "exploration_slot": item.exploration_slot,
        "inclusion": item.inclusion,
        "left_out": item.left_out,
        "query": item.query,
        "fused": item.fused,
        "identifiers": list(item.identifiers),
        "contender": item.contender,
    }
