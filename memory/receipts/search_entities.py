"""What a retrieval searched for: its queries, and where they came from."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from memory.kernel.fields import BOTH_WAYS, OUTPUT, TaskText
from memory.kernel.text import TASK, cleaned
from memory.memories.filter_entities import RetrievalFilter
from memory.tenancy.namespace_settings import Rerank


class Target(StrEnum):
    """Which text of a memory a query is compared with."""

    SITUATION = "situation"
    LESSON = "lesson"


@dataclass(frozen=True, slots=True)
class Query:
    """One angle of search."""

    __pydantic_config__ = BOTH_WAYS

    text: TaskText
    """What to look for."""
    target: Target = Target.SITUATION
    """Which text of a memory it is compared with."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", cleaned(self.text, "text", TASK))
        object.__setattr__(self, "target", Target(self.target))


class QueriesBy(StrEnum):
    """Whose queries were searched for: the caller's, a language model's beside the task's text, or
    the task's text alone.
    """

    TASK = "task"
    CALLER = "caller"
    MODEL = "model"


class NoQueries(StrEnum):
    """Why no model was asked for queries; what a model did wrong is named by its fault.

    no_model: none is configured. off_server, off_namespace, off_request: switched off there.
    own_queries: the caller brought some. not_acting: a preview, or `arm: off`. paused: the model
    was too slow several times in a row. deadline: time was up before this task had its turn.
    """

    NO_MODEL = "no_model"
    OFF_SERVER = "off_server"
    OFF_NAMESPACE = "off_namespace"
    OFF_REQUEST = "off_request"
    OWN_QUERIES = "own_queries"
    NOT_ACTING = "not_acting"
    PAUSED = "paused"
    DEADLINE = "deadline"


class Opinion(StrEnum):
    """What a memory's place goes by beside its weight. relevance: its cosine to the task, or the
    opinion of the reranker that is configured. word_pieces: the pieces of words that it shares with
    the task, by BM25. raw_terms: names, words beyond Latin and pairs of characters of scripts
    without spaces that it shares, by BM25.
    """

    RELEVANCE = "relevance"
    WORD_PIECES = "word_pieces"
    RAW_TERMS = "raw_terms"


ALONE = (Opinion.RELEVANCE,)
FUSED = (Opinion.RELEVANCE, Opinion.WORD_PIECES, Opinion.RAW_TERMS)


@dataclass(frozen=True, slots=True)
class Search:
    """What was searched for. A memory's similarity is that to the query nearest to it."""

    __pydantic_config__ = OUTPUT

    by: QueriesBy
    """Whose queries they were."""
    queries: tuple[Query, ...] = ()
    """Those of a model, beside the task's text; empty once their words were erased."""
    cached: bool = False
    """Whether they were written for an earlier retrieval about the same text."""
    reason: str | None = None
    """Why no model's queries were searched for: a word, or the fault of the model."""
    filter: RetrievalFilter | None = None
    """Which memories might be served, where the caller narrowed that."""
    rerank: Rerank = Rerank.NONE
    """Whether words that memories share with the task ordered them too."""
    ordered_by: tuple[Opinion, ...] = ALONE
    """What a memory's place went by, beside its weight."""

    def stored(self) -> dict[str, object]:
        queries = [{"text": one.text, "target": one.target.value} for one in self.queries]
        rest = {"by": self.by.value, "cached": self.cached, "reason": self.reason}
        only = {} if self.filter is None else {"filter": self.filter.stored()}
        words = {} if self.rerank is Rerank.NONE else {"rerank": self.rerank.value}
        by = {"ordered_by": [one.value for one in self.ordered_by]} if words else {}
        return {"queries": queries, **rest, **only, **words, **by}

    @classmethod
    def read(cls, stored: Mapping[str, Any] | None) -> "Search | None":
        """As it was stored; None for receipts of earlier releases."""
        if stored is None:
            return None
        queries = tuple(Query(one["text"], Target(one["target"])) for one in stored["queries"])
        return cls(
            by=QueriesBy(stored["by"]),
            queries=queries,
            cached=stored["cached"],
            reason=stored["reason"],
            filter=RetrievalFilter.read(stored.get("filter")),
            rerank=Rerank(stored.get("rerank", Rerank.NONE)),
            ordered_by=tuple(Opinion(one) for one in stored.get("ordered_by", ALONE)),
        )
