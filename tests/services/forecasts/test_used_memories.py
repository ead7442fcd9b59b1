"""A prediction names the memories it used, and its settlement goes by it."""

from memory.forecasts.entities import Forecast
from memory.forecasts.service import predict
from memory.kernel.engine import Engine
from memory.kernel.errors import Rejected
from memory.kernel.paging import Page
from memory.outcomes.applying import apply_now
from memory.outcomes.service import list_outcomes
from memory.receipts.list_entities import OutcomeFilter
from tests.fixtures.builders import a_draft, a_prediction, a_window, yes_or_no
from tests.fixtures.engine import DAY, NOON, Caller
from tests.storage.steps import live_and_rebuilt, predicted, remembered, served, settled


async def test_what_a_forecast_used_is_credited_once_it_is_settled(
    engine: Engine, calls: Caller, past: str
):
    call = await calls(past)
    used, unused = await remembered(
        engine,
        call,
        a_draft(lesson="start from the base rate", learned_at=NOON),
        a_draft(lesson="never trust a base rate", learned_at=NOON),
    )
    run = await served(engine, call, task=a_window(), as_of=NOON, arm="on")
    named = {"retrieval_id": run.receipt.retrieval_id, "known_at": NOON}
    stranger = Forecast(probabilities=yes_or_no(0.8), used=(run.receipt.retrieval_id,))
    forecast = Forecast(probabilities=yes_or_no(0.8), used=(used.id,))

    [refused] = await predict(engine, call, [a_prediction(forecast=stranger, **named)])
    [made] = await predicted(engine, call, a_prediction(forecast=forecast, **named))
    await settled(engine, call, known_at=NOON + DAY)
    await apply_now(engine, call)

    assert isinstance(refused, Rejected)
    assert refused.field == "used"
    assert made.newest.used == (used.id,)
    [outcome] = (await list_outcomes(engine, call, OutcomeFilter(), Page(10))).items
    assert outcome.used == (used.id,)
    exposure = {one.memory_id: one.exposure for one in outcome.exposure or ()}
    assert exposure == {used.id: 1.0, unused.id: 0.0}
    live, again = await live_and_rebuilt(engine, call)
    assert live == again
