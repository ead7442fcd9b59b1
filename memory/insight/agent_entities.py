"""What is known of the agents of a namespace, for who looks after them."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.constraints.trajectory_entities import Competence
from memory.insight.entities import Effect
from memory.tasks.entities import Agent


@dataclass(frozen=True, slots=True)
class AgentActivity:
    """What one agent did in its namespace, in numbers."""

    agent_id: UUID
    experiences: int
    """Living experiences that it wrote and that the viewer may see."""
    receipts: int
    """Its retrievals, previews and replays aside."""
    answered: int
    """Those of them with an outcome in effect."""
    reward: float | None
    """The mean reward of these outcomes; None without any."""
    last_receipt_at: datetime | None
    """When it last retrieved."""
    runs: int
    """Runs of it that are kept, withdrawn ones aside."""
    predictions: int
    """Windows that it forecast."""


@dataclass(frozen=True, slots=True)
class AgentProfile:
    """An agent with what it did, how it fares without and with memory, and how far memory is
    followed.
    """

    agent: Agent
    activity: AgentActivity
    competences: tuple[Competence, ...]
    effects: tuple[Effect, ...]
