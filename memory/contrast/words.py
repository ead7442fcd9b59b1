"""The fixed words of contrasting: which capitals say nothing, which words hold no content."""


def words(*lines: str) -> frozenset[str]:
    """The words of some lines."""
    return frozenset(" ".join(lines).split())


STOP_LIST = words(
    "A An And Any As At Be But By Do Each For From He Her His How I If In Is It Its My No Not Of",
    "On Or Our She So That The Their Then There These They This Those To Was We What When Where",
    "Which While Who Why With You Your",
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May",
    "June July August September October November December",
    "Mr Mrs Ms Miss Dr Prof St Jr Sr",
    "Python Java Any Bool Boolean Callable Dict Exception False Iterable Float Int Integer List",
    "None Optional Sequence Set Str String True Tuple Union",
    "Args Constraints Example Examples Input Inputs Note Notes Output Outputs Parameters Return",
    "Returns",
)
"""Words whose capital says nothing: function words, days, months, titles, and what documentation
and types of programs are written with.
"""

PARTICLES = words(
    "a about after all also altogether an and any are as at be been before being but by can cost",
    "costs could did do does down each else every for from had has have he her him his how i if in",
    "into is it its left less long more most my need needs no nor not now of off on only onto or",
    "other our out over per she so some still such than that the their them then there these they",
    "this those through to together too total under until up us was we were what when where which",
    "while who will with would you your",
)
"""Words that name nothing to count: a noun phrase ends before them."""

MASSES = words("people children men women feet teeth mice geese fish sheep deer dice")
"""Plurals that do not end in s."""

NUMBER_WORDS = {
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "dozen": 12,
    "fifteen": 15,
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "hundred": 100,
    "thousand": 1000,
}

AUXILIARIES = words(
    "does did do will would can could should has have had is are was were must may might"
)
PRONOUNS = words("he she they we you it i")

PAST = {
    "begin": "began",
    "bring": "brought",
    "build": "built",
    "buy": "bought",
    "catch": "caught",
    "cost": "cost",
    "do": "did",
    "drink": "drank",
    "drive": "drove",
    "earn": "earned",
    "eat": "ate",
    "feed": "fed",
    "find": "found",
    "get": "got",
    "give": "gave",
    "go": "went",
    "grow": "grew",
    "have": "had",
    "hit": "hit",
    "keep": "kept",
    "leave": "left",
    "lose": "lost",
    "make": "made",
    "pay": "paid",
    "put": "put",
    "read": "read",
    "run": "ran",
    "see": "saw",
    "sell": "sold",
    "send": "sent",
    "sleep": "slept",
    "spend": "spent",
    "swim": "swam",
    "take": "took",
    "throw": "threw",
    "win": "won",
    "write": "wrote",
}

IMPERATIVES = words(
    "add build calculate change check compute concatenate convert count create decide design",
    "determine draw estimate evaluate extract fetch filter find fix forecast generate get give",
    "identify implement insert list make multiply parse plan predict print produce prove read",
    "remove replace return reverse rewrite round search select set show simplify solve sort split",
    "sum summarise summarize swap take test transform translate turn verify write",
)
"""Verbs a task begins with when it says what to do."""
