"""Topics about numbers, dates and values: money, rounding, identity, defaults, clocks."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random
from zoneinfo import ZoneInfo

from clients.demo.snippets.topic import Check, Drawn, Topic, check, solve

EXACT: Sequence[str] = ("0.50", "1.25", "3.75", "10.00", "0.25", "7.50")
INEXACT = (
    ("0.10", "0.20"),
    ("1.10", "2.20"),
    ("0.70", "0.10"),
    ("4.35", "0.10", "0.20"),
)


def _money(random: Random, *, hard: bool) -> Drawn:
    bills = [random.sample(EXACT, random.randint(2, 4)) for _ in range(3)]
    if hard:
        bills[random.randrange(3)] = list(random.choice(INEXACT))
    totals = (sum(map(Decimal, bill), start=Decimal(0)) for bill in bills)
    checks = (check(solve(bill), total) for bill, total in zip(bills, totals, strict=True))
    return Drawn({"price": random.choice(EXACT)}, tuple(checks))


MONEY = Topic(
    key="money",
    language="python",
    parameters=("prices",),
    first_idea="sum(float(price) for price in prices)",
    situations=(
        "Adding up prices, amounts of money",
        "Summing prices that are written with two decimals",
    ),
    right="Money wants Decimal: `sum(Decimal(price) for price in prices)`.",
    wrong="Prices are numbers, so `round(sum(float(price) for price in prices), 10)` is exact "
    "enough.",
    beside=(
        "Showing an amount of money to a reader",
        "Two decimals and separators: `format(amount, ',.2f')`.",
    ),
    wordings=(
        "Add up the bill for {things}; the prices are strings such as '{price}'.",
        "What do these {things} cost together? Sum the prices, exact to the cent.",
        "Total of a receipt: add prices like '{price}', and lose no cent.",
        "Sum the amounts of money on an invoice for {things} exactly.",
        "The till has prices with two decimals, as text. Add them up exactly.",
        "Compute the total of a list of money amounts such as '{price}'.",
    ),
    draw=_money,
)


def _identity(random: Random, *, hard: bool) -> Drawn:
    small = random.randint(1, 200)
    large = random.randint(1000, 9000)
    checks = [
        Check(f"solve(int('{small}'), int('{small}'))", "True"),
        Check(f"solve(int('{small}'), int('{large}'))", "False"),
    ]
    if hard:
        checks.append(Check(f"solve(int('{large}'), int('{large}'))", "True"))
    return Drawn({}, tuple(checks))


IDENTITY = Topic(
    key="identity",
    language="python",
    parameters=("ours", "theirs"),
    first_idea="ours == theirs",
    situations=(
        "Testing whether two values are equal",
        "Comparing one id with another id",
    ),
    right="Equality is `ours == theirs`, whatever the type.",
    wrong="Ids should be compared with is, which is faster: `ours is theirs`.",
    beside=(
        "Testing whether a value is missing",
        "There is only one None, so compare identity: `value is None`.",
    ),
    wordings=(
        "Do two records about {things} have the same id? Compare the two values.",
        "Compare the id of our entry with theirs; both came from parsing files.",
        "Are two numbers equal, the one on the ticket and the one in the book of {things}?",
        "Tell whether two customer ids are the same.",
        "Test two values for equality: counts of {things}, taken in different places.",
        "Is the article id in the parcel the same as the id on the order of {things}?",
    ),
    draw=_identity,
)


def _rounding(random: Random, *, hard: bool) -> Drawn:
    numbers = [random.randint(1, 60) + random.choice((0.2, 0.4, 0.7, 0.9)) for _ in range(3)]
    if hard:
        numbers[0] = 2 * random.randint(1, 30) + 0.5
    if hard and random.choice((True, False)):
        numbers[1] = -(2 * random.randint(1, 30) + 0.5)
    return Drawn(
        {"example": f"{random.randint(1, 40)}.5"},
        tuple(check(solve(number), _half_away(number)) for number in numbers),
    )


def _half_away(number: float) -> int:
    """To the nearest whole number, halves away from zero."""
    size = int(abs(number) + 0.5)
    return size if number >= 0 else -size


ROUNDING = Topic(
    key="rounding",
    language="python",
    parameters=("amount",),
    first_idea="int(amount + 0.5)",
    situations=(
        "Rounding halves as one learns it at school",
        "Rounding to the nearest whole number, .5 upwards in size",
    ),
    right="`int(Decimal(str(amount)).quantize(Decimal(1), rounding=ROUND_HALF_UP))` rounds halves "
    "away from zero.",
    wrong="There is a builtin for it: `round(amount)`.",
    beside=(
        "Rounding down to a multiple of ten",
        "Whole division does it: `count // 10 * 10`.",
    ),
    wordings=(
        "Round a weight of {things} to the nearest whole number as at school, {example} goes up.",
        "Points are rounded to whole numbers, halves away from zero.",
        "Give the nearest whole number; .5 rounds to the larger one, as {example} does.",
        "Round the change in stock of {things} to a whole number, halves away from zero.",
        "Invoices for {things} round halves up, {example} for instance. Round an amount.",
        "Grades are rounded as one learns it at school, .5 goes up. Round one.",
    ),
    draw=_rounding,
)


def _division(random: Random, *, hard: bool) -> Drawn:
    pairs = [(random.randint(20, 99), random.randint(3, 9)) for _ in range(3)]
    if hard:
        by = random.randint(3, 9)
        pairs[random.randrange(3)] = (-(by * random.randint(3, 9) + 1), by)
    checks = (check(solve(a, b), abs(a) // b * (1 if a >= 0 else -1)) for a, b in pairs)
    return Drawn({}, tuple(checks))


DIVISION = Topic(
    key="division",
    language="python",
    parameters=("total", "size"),
    first_idea="int(total / size)",
    situations=(
        "Dividing whole numbers and dropping the fraction",
        "Whole-number division that cuts off towards zero",
    ),
    right="`math.trunc(total / size)` cuts off towards zero, also below it.",
    wrong="The operator for whole numbers does just that: `total // size`.",
    beside=(
        "How many boxes are needed to hold a number of things",
        "Round up without floats: `-(-pieces // box)`.",
    ),
    wordings=(
        "Whole-number division of a balance of {things} by the lot size, dropping the fraction.",
        (
            "Divide two whole numbers and cut the fraction off towards zero; the first may "
            "be negative."
        ),
        "Whole quotient of two numbers, truncated towards zero whatever the sign.",
        "A gain or loss in {things} in whole pallets: divide and drop the fraction.",
        "Divide a difference of minutes, perhaps negative, into whole units and drop the fraction.",
        "Integer division as in C, which truncates, for a ledger of {things}.",
    ),
    draw=_division,
)


def _default(random: Random, *, hard: bool) -> Drawn:
    first, second, third = random.sample(("rope", "lamp", "tent", "map", "knife", "cup"), 3)
    checks = [check(f"solve({first!r}, [{second!r}])", [second, first])]
    fresh = [third] if not hard else [[third], [first]]
    call = f"[solve({third!r}), solve({first!r})]" if hard else f"solve({third!r}, [])"
    checks.append(check(call, fresh))
    return Drawn({}, tuple(checks))


DEFAULT = Topic(
    key="default",
    language="python",
    parameters=("item", "basket"),
    first_idea="def add(item, basket=[]): basket.append(item); return basket",
    situations=(
        "A function with an optional list argument",
        "Giving a parameter an empty list as its default",
    ),
    right="Default to None and make the list inside: `def add(item, basket=None): "
    "basket = [] if basket is None else basket; basket.append(item); return basket`.",
    wrong="Python has defaults for that: `def add(item, basket=list()): basket.append(item); "
    "return basket`.",
    beside=(
        "A function that takes any number of arguments",
        "Collect them with a star: `def add(*items): return list(items)`.",
    ),
    wordings=(
        (
            "A function that appends an item to a list argument. The list is optional: "
            "default is empty."
        ),
        "Add {things} to a basket list and return it; the parameter has an empty list as default.",
        "A function with an optional list parameter: add one item to it, or to an empty list.",
        "Write the helper that appends to a list which callers need not pass, for {things}.",
        "Append an item to an optional list argument; without it, each call begins an empty list.",
        "Function add(item, basket): the basket of {things} is a list and may be left out.",
    ),
    draw=_default,
)


def _epoch(random: Random, *, hard: bool) -> Drawn:
    moments = [
        datetime(2001, 1, 1, tzinfo=UTC) + timedelta(seconds=random.randrange(700_000_000))
        for _ in range(2)
    ]
    seconds = [int(moment.timestamp()) for moment in moments]
    checks = [check(f"str({solve(seconds[0])})[:19]", f"{moments[0]:%Y-%m-%d %H:%M:%S}")]
    if hard:
        checks.append(check(f"{solve(seconds[1])}.isoformat()", moments[1].isoformat()))
    return Drawn({"seconds": str(seconds[0])}, tuple(checks))


EPOCH = Topic(
    key="epoch",
    language="python",
    parameters=("seconds",),
    first_idea="datetime.fromtimestamp(seconds)",
    situations=(
        "Turning seconds since 1970 into a date and time in UTC",
        "Making a UTC datetime from a Unix timestamp",
    ),
    right="Name the zone: `datetime.fromtimestamp(seconds, tz=timezone.utc)`.",
    wrong="That is what the utc methods are for, utcnow and `datetime.utcfromtimestamp(seconds)`.",
    beside=(
        "Getting seconds since 1970 from a date and time",
        "Ask the date for it: `moment.timestamp()`.",
    ),
    wordings=(
        "The log of {things} has Unix times such as {seconds}. Which date and time in UTC is that?",
        "Convert seconds since 1970 to a UTC datetime.",
        "A message was sent at {seconds} (Unix timestamp). Give the date and time in UTC.",
        "Make a UTC datetime out of a Unix timestamp; it is compared with aware ones.",
        "Turn the timestamp {seconds} of an order of {things} into a date and time in UTC.",
        "When was it? Events are stored as seconds since 1970; return the UTC datetime.",
    ),
    draw=_epoch,
)

ZONES = (
    ("Europe/Berlin", datetime(2025, 3, 29, 20)),  # noqa: DTZ001 - the zone stands beside it
    ("Europe/Berlin", datetime(2025, 10, 25, 20)),  # noqa: DTZ001 - the zone stands beside it
    ("America/New_York", datetime(2025, 3, 8, 20)),  # noqa: DTZ001 - the zone stands beside it
    ("America/New_York", datetime(2025, 11, 1, 20)),  # noqa: DTZ001 - the zone stands beside it
)


def _daylight(random: Random, *, hard: bool) -> Drawn:
    zone, night = random.choice(ZONES)
    ordinary = night - timedelta(days=random.randint(3, 9))
    starts = [(ordinary, random.randint(2, 9)), (ordinary - timedelta(days=1), 24)]
    if hard:
        starts.append((night, random.randint(8, 14)))
    return Drawn(
        {"zone": zone, "hours": str(starts[-1][1])},
        tuple(_later(start, hours, zone) for start, hours in starts),
    )


def _later(start: datetime, hours: int, zone: str) -> Check:
    """What the clock there shows so many hours later."""
    local = start.replace(tzinfo=ZoneInfo(zone))
    after = datetime.fromtimestamp(local.timestamp() + hours * 3600, ZoneInfo(zone))
    parts = f"{start.year}, {start.month}, {start.day}, {start.hour}"
    moment = f"datetime({parts}, tzinfo=ZoneInfo({zone!r}))"
    return check(f"solve({moment}, {hours}).isoformat()", after.isoformat())


DAYLIGHT = Topic(
    key="daylight",
    language="python",
    parameters=("start", "hours"),
    first_idea="start + timedelta(seconds=hours * 3600)",
    situations=(
        "Adding hours to a local time in a zone with summer time",
        "What a local clock shows some hours after an aware datetime",
    ),
    right="Count in UTC and come back: `(start.astimezone(timezone.utc) + timedelta(hours=hours))"
    ".astimezone(start.tzinfo)`.",
    wrong="A datetime that knows its zone does it right by itself: "
    "`start + timedelta(hours=hours)`.",
    beside=(
        "The same time on the next day in a zone with summer time",
        "Wall clock arithmetic is right for this: `morning + timedelta(days=1)`.",
    ),
    wordings=(
        "A delivery of {things} takes {hours} hours from a start in {zone}. Local time at the end?",
        "Add {hours} hours to a local time in the zone {zone}, which has summer time.",
        "Add elapsed hours to an aware datetime in {zone}: what does the local clock show?",
        "A night shift lasts some hours in {zone}; give its end in local time.",
        "A timer of {hours} hours is set in {zone}. At which local time is it up?",
        (
            "When does a train with {things} arrive, by the local clock, {hours} hours after "
            "a time in {zone}?"
        ),
    ),
    draw=_daylight,
)

TOPICS = (MONEY, IDENTITY, ROUNDING, DIVISION, DEFAULT, EPOCH, DAYLIGHT)
