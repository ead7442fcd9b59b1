"""The embedder and the reranker as an application of Ray Serve: one model a replica, one replica a
GPU, this project's batcher in each. It speaks what servers of models speak (`POST /v1/embeddings`,
`POST /rerank`, `GET /info`), so MemLift reaches it by MEMLIFT_EMBEDDING_URL and
MEMLIFT_RERANKER_URL, and knows nothing of Ray.

    serve run deploy/ray/serve.yaml
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from ray import serve
from ray.serve import Application
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from memory.inference.batcher import BatchLimits
from memory.inference.embedder import EmbedderPolicy, LocalEmbedder
from memory.inference.loading import BUNDLED_MODEL, Dtype, ModelChoice
from memory.inference.reranker import LocalReranker, RerankerPolicy
from memory.kernel.errors import MemoryFault, Overloaded, Unavailable

MAX_TEXTS = 256
MAX_CHARACTERS = 100_000


class Asked(BaseModel):
    """What a caller may send; a name that is not known is passed over, as other servers do."""

    model_config = ConfigDict(strict=True, extra="ignore")
    model: str = Field(max_length=500)


class EmbeddingsAsked(Asked):
    """Of OpenAI's form: one text or several."""

    input: str | list[str] = Field(max_length=MAX_CHARACTERS)

    @property
    def texts(self) -> list[str]:
        return [self.input] if isinstance(self.input, str) else self.input


class RerankingAsked(Asked):
    """Of Text Embeddings Inference (`texts`) or of Infinity and vLLM (`documents`)."""

    model: str = Field(default="", max_length=500)
    query: str = Field(max_length=MAX_CHARACTERS)
    texts: list[str] | None = None
    documents: list[str] | None = None


class Replicas(BaseModel):
    """How the application is laid out; the arguments of `build`."""

    model_config = ConfigDict(extra="forbid")
    model: str = BUNDLED_MODEL
    dtype: Dtype = "float32"
    reranker: str | None = None
    min_replicas: int = Field(default=1, ge=1)
    max_replicas: int = Field(default=8, ge=1)
    gpus: float = Field(default=1, ge=0, description="of each replica; 0 computes on the CPU")
    cpus: float = Field(default=2, gt=0)
    target_calls: float = Field(
        default=16, gt=0, description="calls of each replica, beyond which there are more of them"
    )
    queue: int = Field(default=2048, ge=1, description="texts that may wait in a replica")


class Refused(Exception):
    """The call is not one of this protocol."""

    def __init__(self, detail: str, status: int = 422) -> None:
        super().__init__(detail)
        self.detail, self.status = detail, status


@dataclass(slots=True)
class _Models:
    """What one replica holds. One thread owns the device, for both models."""

    embedder: LocalEmbedder
    reranker: LocalReranker | None
    names: tuple[str, str | None] = field(default=(BUNDLED_MODEL, None))


@serve.deployment
class ModelReplica:
    """One process with the models; it says that it is well once they are loaded."""

    def __init__(self, layout: dict[str, Any]) -> None:
        self._layout = Replicas.model_validate(layout)
        self._models: _Models | None = None

    async def check_health(self) -> None:
        """Asked by Ray: a replica that fails is replaced."""
        if self._models is not None and self._models.embedder.failure is not None:
            raise RuntimeError(self._models.embedder.failure)

    async def __call__(self, request: Request) -> Response:
        try:
            return await self._answer(request)
        except Refused as fault:
            return JSONResponse({"error": {"message": fault.detail}}, fault.status)
        except Overloaded as fault:
            return _come_back(fault, 429)
        except Unavailable as fault:
            return _come_back(fault, 503)

    async def _answer(self, request: Request) -> Response:
        match (request.method, request.url.path.rstrip("/")):
            case ("GET", "/health"):
                await self._open()
                return JSONResponse({"status": "ok"})
            case ("GET", "/info"):
                return JSONResponse(await self._info())
            case ("POST", "/v1/embeddings"):
                return JSONResponse(await self._embed(await _body(request, EmbeddingsAsked)))
            case ("POST", "/rerank" | "/v1/rerank"):
                return JSONResponse(await self._rerank(await _body(request, RerankingAsked)))
            case _:
                raise Refused("no such path", 404)

    async def _open(self) -> _Models:
        """The models, loaded by the first call: only inside a call is there a loop to load in."""
        if self._models is None:
            layout = self._layout
            limits = BatchLimits(queue=layout.queue)
            choice = ModelChoice(layout.model, layout.dtype)
            embedder = LocalEmbedder(EmbedderPolicy(choice, limits))
            embedder.start()
            reranker = None
            if layout.reranker is not None:
                policy = RerankerPolicy(ModelChoice(layout.reranker), limits)
                reranker = LocalReranker(policy, embedder.worker)
                reranker.start()
            self._models = _Models(embedder, reranker, (layout.model, layout.reranker))
        await self._models.embedder.wait_until_ready()
        if self._models.reranker is not None:
            await self._models.reranker.wait_until_ready()
        return self._models

    async def _info(self) -> dict[str, object]:
        """`model_sha` is what MEMLIFT_EMBEDDING_REVISION has to be: the weights and their
        arithmetic.
        """
        identity = await (await self._open()).embedder.wait_until_ready()
        return {
            "model_id": identity.name,
            "model_sha": "-".join(filter(None, (identity.sha256, identity.revision))),
            "model_dtype": self._layout.dtype,
            "max_client_batch_size": MAX_TEXTS,
        }

    async def _embed(self, asked: EmbeddingsAsked) -> dict[str, object]:
        models = await self._open()
        _require_model(asked.model, models.names[0])
        made = await models.embedder.embed(_checked(asked.texts))
        return {
            "object": "list",
            "model": asked.model,
            "data": [
                {"object": "embedding", "index": place, "embedding": one.vector.tolist()}
                for place, one in enumerate(made)
            ],
            "usage": {
                "prompt_tokens": sum(len(one.token_ids) for one in made),
                "total_tokens": sum(len(one.token_ids) for one in made),
            },
        }

    async def _rerank(self, asked: RerankingAsked) -> object:
        models = await self._open()
        if models.reranker is None:
            raise Refused("no reranker is served here: name one in serve.yaml", 404)
        if asked.model:
            _require_model(asked.model, str(models.names[1]))
        if (asked.texts is None) == (asked.documents is None):
            raise Refused("send texts or documents")
        given = _checked(asked.texts if asked.texts is not None else asked.documents or [])
        scores = await models.reranker.relevance(asked.query, given)
        order = sorted(range(len(given)), key=lambda place: -scores[place])
        if asked.texts is not None:
            return [{"index": place, "score": scores[place]} for place in order]
        rows = [{"index": place, "relevance_score": scores[place]} for place in order]
        return {"model": models.names[1], "results": rows}


async def _body(request: Request, form: type[Any]) -> Any:
    try:
        return form.model_validate_json(await request.body())
    except ValidationError as fault:
        first = fault.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise Refused(f"{place}: {first['msg']}") from fault


def _checked(texts: Sequence[str]) -> list[str]:
    if not 0 < len(texts) <= MAX_TEXTS:
        raise Refused(f"1 to {MAX_TEXTS} texts a call")
    if any(len(text) > MAX_CHARACTERS for text in texts):
        raise Refused(f"a text has more than {MAX_CHARACTERS} characters", 413)
    return list(texts)


def _require_model(asked: str, served: str) -> None:
    if asked != served:
        raise Refused(f"the model served here is {served}", 404)


def _come_back(fault: MemoryFault, status: int) -> Response:
    seconds = str(max(1, round(fault.retry_after or 1)))
    return JSONResponse({"error": {"message": fault.detail}}, status, {"Retry-After": seconds})


def build(layout: Replicas) -> Application:
    """The application that `serve.yaml` names; its `args` are a `Replicas`."""
    deployment = ModelReplica.options(
        autoscaling_config={
            "min_replicas": layout.min_replicas,
            "max_replicas": layout.max_replicas,
            # Calls that wait or are answered: the length of the queue.
            "target_ongoing_requests": layout.target_calls,
        },
        max_ongoing_requests=int(layout.target_calls * 8),
        ray_actor_options={"num_gpus": layout.gpus, "num_cpus": layout.cpus},
        health_check_period_s=5,
        graceful_shutdown_timeout_s=30,
    )
    return deployment.bind(layout.model_dump())
