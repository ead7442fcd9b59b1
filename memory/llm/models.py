"""Which language model is asked in a role, among those that the operator has named."""

from memory.kernel.engine import DEFAULT_LLM, Engine, NamedLlm
from memory.kernel.ports import LlmClient, RoleName
from memory.llm.entities import LlmPause
from memory.llm.provider import ProviderClient
from memory.tenancy.namespace_settings import NamespaceSettings


def name_for(engine: Engine, settings: NamespaceSettings, role: RoleName) -> str:
    """As the namespace chooses, else as the server has it for the role. The server may not have a
    model of that name any more.
    """
    return settings.llm_models.get(role) or engine.further_llms.roles.get(role, DEFAULT_LLM)


def model_for(engine: Engine, settings: NamespaceSettings, role: RoleName) -> NamedLlm | None:
    """None where the server has no model of the chosen name: another is not asked in its place, for
    it may cost more, or be somebody else's.
    """
    return engine.llms.get(name_for(engine, settings, role))


def pause_of(client: LlmClient) -> LlmPause | None:
    """The pause that this process has it in."""
    return client.pause if isinstance(client, ProviderClient) else None
