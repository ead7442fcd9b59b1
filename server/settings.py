"""Everything an operator can turn, read once at start; the only reader of the environment.

A value is what people meant: an empty variable counts as unset, the carriage return of an edited
file and a pair of quotes around the whole value are dropped, and `NAME_FILE` names a file that
holds the value of a secret. An invalid value gives one line that names the variable.
"""

import os
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple
from urllib.parse import quote, urlsplit, urlunsplit

from pydantic import BeforeValidator, Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from memory.kernel.errors import Rejected, Unavailable

PREFIX = "MEMLIFT_"
# The data directory is called home outside: MEMLIFT_DATA names the stream of `make demo`.
NAMES = {"data": "MEMLIFT_HOME"}
PRICE = r"^\d{1,6}(\.\d{1,12})?,\d{1,6}(\.\d{1,12})?$"
A_MILLION = 1_000_000
HTTP_URL = r"^https?://[^/\s]+"
# What a pattern asks for, in the words of whoever sets it.
ASKED = {
    PRICE: "must be two prices in US dollars, each below 1000000, such as 0.15,0.60",
    HTTP_URL: "must be an address such as http://host:8080/v1",
}
QUOTES = "\"'"
WITH_PASSWORD = re.compile(r"//[^/@\s]*@")

# What libraries read by themselves: no hub is asked for anything, and forked tokenizers are quiet.
PREPARED = {
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    # Threads of the model that wait by spinning take the processor from the database beside it: on
    # two busy cores an embedding took 130 ms with spinning, 30 ms without.
    "OMP_WAIT_POLICY": "PASSIVE",
}


def variable(field: str) -> str:
    """The name of the environment variable that sets a field."""
    return NAMES.get(field, PREFIX + field.upper())


def default_data() -> Path:
    """Where state lives by custom: the system's place for root, else the user's own."""
    if os.geteuid() == 0:
        return Path("/var/lib/memlift")
    state = meant(os.environ.get("XDG_STATE_HOME", ""))
    return (Path(state) if state else Path("~/.local/state").expanduser()) / "memlift"


def meant(value: str) -> str:
    """The value without what an editor or a shell file left around it."""
    bare = value.strip()
    if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in QUOTES:
        return bare[1:-1]
    return bare


def token_prices(text: str) -> tuple[float, float]:
    """Of one token read and one written, where those of a million of each are written."""
    read, written = (float(part) / A_MILLION for part in text.split(","))
    return read, written


def seconds(value: object) -> object:
    """A bare number is meant in seconds; anything else is left to pydantic (`PT1M`, `00:01:00`)."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


Duration = Annotated[timedelta, BeforeValidator(seconds)]


class Environment(PydanticBaseSettingsSource):
    """The variables of the process, cleaned, with secrets read from the files that are named."""

    def get_field_value(
        self,
        field: FieldInfo,  # noqa: ARG002 - the base class names it
        field_name: str,
    ) -> tuple[Any, str, bool]:
        return self._value(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        values = {name: self._value(name) for name in self.settings_cls.model_fields}
        return {name: value for name, value in values.items() if value is not None}

    def _value(self, field: str) -> str | None:
        name = variable(field)
        if value := meant(os.environ.get(name, "")):
            return value
        if not field.endswith("_file") and (file := meant(os.environ.get(name + "_FILE", ""))):
            return _content(name + "_FILE", Path(file))
        return None


def _content(name: str, file: Path) -> str | None:
    try:
        return meant(file.read_text(encoding="utf-8")) or None
    except (OSError, UnicodeDecodeError) as fault:
        raise Rejected(f"{name}: the file {file} cannot be read: {fault}", field=name) from fault


class Settings(BaseSettings):
    """The settings of one server; `load()` makes them with faults that people can read."""

    model_config: ClassVar[SettingsConfigDict] = SettingsConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True
    )

    database_url: SecretStr | None = Field(
        None, description="Postgres to use; without it an embedded one runs in the data directory"
    )
    database_password: SecretStr | None = Field(
        None, description="password to put into the URLs, for deployments that keep it in a file"
    )
    data: Path = Field(
        default_factory=default_data,
        description="data directory: embedded database, secrets, operator key",
    )
    host: str = Field("127.0.0.1", description="address to listen on")
    port: int = Field(8000, ge=1, le=65535, description="port to listen on")
    workers: int = Field(
        1,
        ge=1,
        le=64,
        description="serving processes at one address; from two on, one more holds the model",
    )
    cards: int = Field(1, ge=1, le=16, description="GPUs that workers share, a model on each")
    insecure_local: bool = Field(
        default=False, description="serve without keys, on loopback only; for trying things out"
    )
    operator_key_file: Path | None = Field(
        None, description="file with the operator key; without it one is made at first start"
    )
    embedding_model: str = Field(
        "all-MiniLM-L6-v2", description="name or path of the embedding model"
    )
    embedding_dtype: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        "auto", description="arithmetic of the embedding model"
    )
    embedding_cache_bytes: int = Field(
        64 * 1024**2, ge=0, description="memory for cached embeddings, per process"
    )
    resident_bytes: int = Field(
        256 * 1024**2,
        ge=0,
        description="memory for copies of namespaces that retrievals are served from, per process;"
        " 0 serves from the database alone",
    )
    embedding_queue: int = Field(
        2048, ge=1, description="texts that may wait for the device before callers are turned away"
    )
    embedding_url: str | None = Field(
        None,
        pattern=HTTP_URL,
        description="base address of a server that embeds, such as http://host:8080/v1; without it"
        " the model runs here",
    )
    embedding_revision: str | None = Field(
        None, description="revision that pins the model behind MEMLIFT_EMBEDDING_URL"
    )
    embedding_key: SecretStr | None = Field(None, description="key for MEMLIFT_EMBEDDING_URL")
    embedding_timeout: Duration = Field(
        timedelta(seconds=10),
        gt=timedelta(0),
        description="longest time for an answer of that server, all tries together",
    )
    embedding_window: int = Field(
        254,
        ge=16,
        le=8192,
        description="most word pieces of one text sent to that server; longer texts are split",
    )
    reranker_model: str | None = Field(
        None, description="name or path of a cross-encoder; without it relevance is similarity"
    )
    reranker_url: str | None = Field(
        None,
        pattern=HTTP_URL,
        description="base address of a server that reranks; without it the reranker runs here",
    )
    reranker_revision: str | None = Field(
        None, description="revision that pins the model behind MEMLIFT_RERANKER_URL"
    )
    reranker_key: SecretStr | None = Field(None, description="key for MEMLIFT_RERANKER_URL")
    reranker_timeout: Duration = Field(
        timedelta(seconds=10),
        gt=timedelta(0),
        description="longest time for an answer of that server, all tries together",
    )
    reranker_api: Literal["texts", "documents"] = Field(
        "texts",
        description="what that server calls what it ranks: `texts` (Text Embeddings Inference) or"
        " `documents` (Infinity, vLLM)",
    )
    llm_model: str | None = Field(
        None,
        description="language model in the form of litellm, such as openai/gpt-4.1-mini; needs the"
        " extra llm; without it guidelines are compiled by rule and nothing is drawn from failures",
    )
    llm_api_base: str | None = Field(
        None, description="address of a language model server of one's own"
    )
    llm_api_key: SecretStr | None = Field(None, description="key for the language model")
    llm_models: SecretStr | None = Field(
        None,
        description="further language models by name, and the roles that they have, in TOML; most"
        " likely a file: `MEMLIFT_LLM_MODELS_FILE=/etc/memlift/models.toml` (docs/how-to/"
        "use-a-language-model.md)",
    )
    llm_timeout: Duration = Field(
        timedelta(seconds=60),
        gt=timedelta(0),
        description="longest time for a lesson from the language model, all attempts together",
    )
    llm_compile_timeout: Duration = Field(
        timedelta(seconds=5),
        ge=timedelta(0),
        description="longest time a retrieval waits for the language model; 0 compiles by rule",
    )
    llm_query_timeout: Duration = Field(
        timedelta(seconds=1),
        ge=timedelta(0),
        description="longest time a retrieval waits for queries of the language model; 0 searches"
        " for the task's text alone",
    )
    llm_daily_tokens: int = Field(
        1_000_000,
        ge=0,
        description="the daily token limit of each namespace: tokens of the language model in"
        " a UTC day",
    )
    llm_daily_cost: float | None = Field(
        None,
        ge=0,
        le=A_MILLION,
        allow_inf_nan=False,
        description="the daily cost limit of each namespace: US dollars that the language model"
        " may cost in a UTC day, at most 1,000,000; a model whose price is not"
        " known is not asked where there is such a limit",
    )
    llm_server_daily_cost: float | None = Field(
        None,
        ge=0,
        le=A_MILLION,
        allow_inf_nan=False,
        description="US dollars that language models may cost all namespaces together in a UTC day,"
        " at most 1,000,000; a model whose price is not known is not asked where there is such a"
        " limit",
    )
    llm_price: str | None = Field(
        None,
        pattern=PRICE,
        description="US dollars for a million tokens read and a million written, such as"
        " `0.15,0.60` (`0,0` for a model of one's own), where the price list of litellm does not"
        " have the model or you pay otherwise",
    )
    evaluations: str | None = Field(
        None,
        description="names of evaluations, separated by commas (`*` for all), whose results"
        " POST /v1/logs takes as outcomes (`gen_ai.evaluation.result` over OTLP/HTTP); needs the"
        " extra otel; without it there is no such route",
    )
    tracing: bool = Field(
        default=False,
        description="send spans of memory operations by OTLP over HTTP, as the OTEL_ variables of"
        " OpenTelemetry say; needs the extra otel",
    )
    tracing_text: bool = Field(
        default=False, description="let spans hold what was asked, found and remembered"
    )
    webhook_hosts: str = Field(
        "",
        description="hosts, separated by commas, each `name` or `name:port`, that webhooks may"
        " reach by http and at addresses that are not public; others only by https at public"
        " addresses; link-local addresses are never reached",
    )
    pool_size: int = Field(
        8, ge=2, le=1000, description="database connections, per process; five more at times"
    )
    pool_timeout: Duration = Field(
        timedelta(seconds=5), description="longest wait for a database connection"
    )
    turn_timeout: Duration = Field(
        timedelta(seconds=10),
        description="longest wait of a request while others of its namespace are worked on",
    )
    request_rate: float = Field(50.0, gt=0, description="requests per second, per key")
    request_burst: int = Field(100, ge=1, description="requests a key may make at once")
    max_requests: int = Field(
        256,
        ge=4,
        description="requests served at once, per process; a quarter of that for callers"
        " whose key is not known yet",
    )
    unknown_key_rate: float = Field(
        5.0, gt=0, description="unknown keys looked up per second, per address"
    )
    unknown_key_burst: int = Field(
        20, ge=1, description="unknown keys an address may bring at once"
    )
    login_rate: float = Field(
        0.1, gt=0, description="failed logins at the dashboard per second, per address"
    )
    login_burst: int = Field(
        10, ge=1, description="failed logins at the dashboard an address may make at once"
    )
    proxies: int = Field(
        0,
        ge=0,
        le=8,
        description="trusted reverse proxies in front: a caller's address is the entry of"
        " X-Forwarded-For that the outermost of them wrote; 0 does not read the header",
    )
    max_body_bytes: int = Field(2 * 1024**2, ge=1024, description="largest request body")
    head_timeout: Duration = Field(
        timedelta(seconds=10),
        gt=timedelta(0),
        description="longest time for the request line and the headers of a request",
    )
    body_timeout: Duration = Field(
        timedelta(seconds=30), gt=timedelta(0), description="longest time for a request's body"
    )
    receipt_expiry: Duration = Field(
        timedelta(days=180), description="age at which a receipt's outcome no longer moves weights"
    )
    leader_beat: Duration = Field(
        timedelta(seconds=2),
        gt=timedelta(0),
        le=timedelta(seconds=5),
        description="how often the leader says that it is alive; silent for 15 s it is replaced",
    )
    applier_interval: Duration = Field(
        timedelta(seconds=1),
        description="how long an outcome waits at most for others before the leader applies them"
        " together; they are applied as soon as none has arrived for half a second",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="least severe line that is logged"
    )

    def named_webhook_hosts(self) -> frozenset[str]:
        """The hosts of `webhook_hosts`, each in lower case."""
        names = (name.strip().lower() for name in self.webhook_hosts.split(","))
        return frozenset(name for name in names if name)

    def named_price(self) -> tuple[float, float] | None:
        """US dollars for a token read and for one written, where the operator says so."""
        return None if self.llm_price is None else token_prices(self.llm_price)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - replaced by Environment
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - replaced by Environment
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - replaced by Environment
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings, Environment(settings_cls))

    def configured_database(self) -> str | None:
        """The URL of a server of the operator's own, if there is one."""
        return None if self.database_url is None else self._signed(self.database_url)

    def database(self) -> str:
        """The URL to connect to: the configured one, else that of the running embedded server."""
        if (url := self.configured_database()) is not None:
            return url
        try:
            return (self.data.expanduser() / "address").read_text(encoding="utf-8").strip()
        except OSError as fault:
            raise Unavailable(
                f"no database: MEMLIFT_DATABASE_URL is not set and no embedded server runs in "
                f"{self.data} (`memlift serve` starts one)"
            ) from fault

    def _signed(self, url: SecretStr) -> str:
        """The URL with the password in it, when that is kept apart."""
        plain = url.get_secret_value()
        if self.database_password is None:
            return plain
        parts = urlsplit(plain)
        signature = quote(self.database_password.get_secret_value(), safe="")
        user, _, place = parts.netloc.rpartition("@")
        role = user.partition(":")[0] or "memlift"
        return urlunsplit(parts._replace(netloc=f"{role}:{signature}@{place}"))


def load(given: Mapping[str, object] | None = None) -> Settings:
    """The settings of this process; `given` (the command line) wins over the environment."""
    chosen = {name: value for name, value in (given or {}).items() if value is not None}
    try:
        return Settings(**chosen)  # pyright: ignore[reportArgumentType] - pydantic checks what it is given
    except ValidationError as fault:
        first = fault.errors()[0]
        name = variable(str(first["loc"][0]))
        said = ASKED.get(first.get("ctx", {}).get("pattern", ""), first["msg"])
        raise Rejected(f"{name}: {said}", field=name) from None


class Chosen(NamedTuple):
    """A setting in force, and where it comes from."""

    variable: str
    value: str | None
    """None where it is not set; of a secret, only that it is."""
    source: str


def explain(given: Mapping[str, object] | None = None) -> list[Chosen]:
    """All settings of this process, as `load` reads them."""
    settings = load(given)
    chosen: list[Chosen] = []
    for field in Settings.model_fields:
        value: object = getattr(settings, field)
        shown = None if value is None else WITH_PASSWORD.sub("//…@", as_written(value))
        if isinstance(value, SecretStr):
            shown = "(set, not shown)"
        is_given = (given or {}).get(field) is not None
        source = "command line" if is_given else _source(field)
        chosen.append(Chosen(variable(field), shown, source))
    return chosen


def as_written(value: object) -> str:
    """A value of a setting as its variable takes it: a duration in ISO 8601, yes and no in small
    letters.
    """
    if isinstance(value, bool):
        return str(value).lower()
    return str(to_jsonable_python(value) if isinstance(value, timedelta) else value)


def _source(field: str) -> str:
    name = variable(field)
    if meant(os.environ.get(name, "")):
        return "environment"
    if not field.endswith("_file") and meant(os.environ.get(name + "_FILE", "")):
        return name + "_FILE"
    return "default"


def publish(given: Mapping[str, object]) -> None:
    """Let the worker processes of this server see what the command line chose."""
    for field, value in given.items():
        if value is not None:
            os.environ[variable(field)] = str(value)


def prepare_environment() -> None:
    """Set what libraries read by themselves, where the operator has not."""
    for name, value in PREPARED.items():
        os.environ.setdefault(name, value)


def prepare_processes(processes: int) -> None:
    """Share the processor among the processes, where the operator has not: a thread a core in each
    of them would make as many threads wait for each other as there are processes. None of them
    looks for modules in the current folder.
    """
    os.environ["PYTHONSAFEPATH"] = "1"
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, usable_cores() // processes)))


def usable_cores() -> int:
    """The cores that this process may run on."""
    return len(os.sched_getaffinity(0))


def unknown_variables() -> list[str]:
    """Variables with our prefix that set nothing: most likely a slip of the pen."""
    fields = {variable(field) for field in Settings.model_fields}
    known = fields | {name + "_FILE" for name in fields} | {"MEMLIFT_DATA"}
    clients = (
        *("MEMLIFT_KEY", "MEMLIFT_URL", "MEMLIFT_NAMESPACE"),
        *("MEMLIFT_AGENT", "MEMLIFT_RECEIPT"),
    )
    return sorted(
        name
        for name in os.environ
        if name.startswith(PREFIX) and name not in known and not name.startswith(clients)
    )
