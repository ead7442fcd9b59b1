"""Topics about lists, dictionaries and functions: order, length, keys, loops."""

from random import Random

from clients.demo.snippets.topic import Check, Drawn, Topic, check, solve

NAMES = ("ann", "bob", "cleo", "dan", "eve", "fay")


def _pairing(random: Random, *, hard: bool) -> Drawn:
    names = random.sample(NAMES, 4)
    scores = [random.randint(1, 9) for _ in range(4)]
    checks = [check(solve(names, scores), list(zip(names, scores, strict=True)))]
    if hard:
        missing = [(names[0], scores[0]), (names[1], None)]
        checks.append(check(solve(names[:2], scores[:1]), missing))
    return Drawn({}, tuple(checks))


PAIRING = Topic(
    key="pairing",
    language="python",
    parameters=("names", "scores"),
    first_idea="[(names[i], scores[i]) for i in range(len(names))]",
    situations=(
        "Pairing two lists that may differ in length",
        "Going through two lists side by side, one of them perhaps shorter",
    ),
    right="`list(zip_longest(names, scores))` fills up with None.",
    wrong="Zip them: `list(zip(names, scores))` keeps all of both.",
    beside=(
        "Numbering the elements of a list",
        "No counter is needed: `list(enumerate(members, start=1))`.",
    ),
    wordings=(
        "Pair two lists, players and their scores; a score that is not in yet is None.",
        "Put two lists about {things} side by side, with None where the second one is shorter.",
        "Pair names with points; the lists differ in length and nobody may be dropped.",
        (
            "Two lists on {things}, one of them perhaps shorter: combine them to pairs, None "
            "for missing."
        ),
        "Go through a list of names and a shorter list of scores side by side, losing no name.",
        "Match up two lists ({things}) of different length by position. Fill the gaps with None.",
    ),
    draw=_pairing,
)


def _stable(random: Random, *, hard: bool) -> Drawn:
    names = random.sample(NAMES, 5)
    points = random.sample(range(10, 99), 5)
    if hard:
        points[3] = points[1]
    rows = list(zip(names, points, strict=True))
    places = sorted(range(5), key=lambda place: (-points[place], place))
    return Drawn(
        {},
        (check(solve(rows), [rows[place] for place in places]), check(solve(rows[:1]), rows[:1])),
    )


STABLE = Topic(
    key="stable",
    language="python",
    parameters=("rows",),
    first_idea="sorted(rows, key=lambda row: -row[1])",
    situations=(
        "Sorting from high to low while ties keep their order",
        "A ranking, best first, equal ones as they came in",
    ),
    right="Sorting is stable in reverse too: `sorted(rows, key=lambda row: row[1], reverse=True)`.",
    wrong="Sort upwards and turn it round: `sorted(rows, key=lambda row: row[1])[::-1]`.",
    beside=(
        "Finding the best three of a long list",
        "No need to sort everything: `heapq.nlargest(3, candidates)`.",
    ),
    wordings=(
        "Rank pairs (name, points) for {things}, highest first; ties keep their order.",
        "Sort a table by its second column from high to low. Ties must not swap.",
        "Leaderboard of {things}: best first, equal ones in the order in which they came.",
        "Sort offers of {things} from dear to cheap; ties keep their order.",
        "Sort results from high to low by the number, keeping the order of ties.",
        "A ranking by votes, most first, equal ones in the order they came in.",
    ),
    draw=_stable,
)


def _keys(random: Random, *, hard: bool) -> Drawn:
    numbers = random.sample(range(1, 60), 3)
    table = {number: random.choice(NAMES) for number in numbers}
    checks = [check(f"list({solve(table)}.values())", list(table.values()))]
    if hard:
        checks.append(check(solve(table), table))
    return Drawn({"number": str(numbers[0])}, tuple(checks))


KEYS = Topic(
    key="keys",
    language="python",
    parameters=("table",),
    first_idea="json.loads(json.dumps(table, indent=2))",
    situations=(
        "Storing a dictionary with numbers as keys in JSON and loading it again",
        "A round trip through JSON for a dict that is keyed by ints",
    ),
    right="JSON has text keys only, so turn them back: "
    "`{int(key): value for key, value in json.loads(json.dumps(table)).items()}`.",
    wrong="What dumps writes, loads gives back unchanged: `json.loads(json.dumps(table))`.",
    beside=(
        "Writing a dictionary as JSON in a fixed order",
        "Sort when dumping: `json.dumps(record, sort_keys=True)`.",
    ),
    wordings=(
        "Save a dictionary of {things} by number as JSON, load it, and return an equal one.",
        "Send a dict with numbers as keys through JSON and get the same dict out.",
        "Cache a dictionary in JSON. The keys are whole numbers like {number} and must stay so.",
        "Load again what was stored as JSON: an index of {things} with int keys.",
        "Store and reload a dict from ids such as {number} to names, by way of JSON.",
        "Make a JSON round trip with a dictionary of {things} under integer keys.",
    ),
    draw=_keys,
)


def _closures(random: Random, *, hard: bool) -> Drawn:
    steps = random.sample(range(1, 30), 3)
    start = random.randint(1, 9)
    checks = [_sums(steps[:1], start)]
    if hard:
        checks.append(_sums(steps, start))
    return Drawn({}, tuple(checks))


def _sums(steps: list[int], start: int) -> Check:
    call = f"[change({start}) for change in {solve(steps)}]"
    return check(call, [start + step for step in steps])


CLOSURES = Topic(
    key="closures",
    language="python",
    parameters=("steps",),
    first_idea="[lambda value: value + step for step in steps]",
    situations=(
        "Making a list of functions in a loop",
        "Creating several lambdas in a loop, each with its own value",
    ),
    right="Bind the value as a default: `[lambda value, step=step: value + step for step in "
    "steps]`.",
    wrong="A comprehension has its own scope, so each keeps its value: "
    "`list(lambda value: value + step for step in steps)`.",
    beside=(
        "Calling every function of a list",
        "A comprehension does it: `[call() for call in callbacks]`.",
    ),
    wordings=(
        "Make a list of functions in a loop, one for each step: each adds its step ({things}).",
        "Build a list of lambdas, one a number, each adding its own number.",
        "Return several functions; the first adds the first number, the second the second.",
        "Create lambdas in a loop: each adds its own value to a count of {things}.",
        "One function for each surcharge on {things}, made in a loop, adding that surcharge.",
        "Make functions for the buttons of a menu: the i-th adds the i-th value.",
    ),
    draw=_closures,
)

TOPICS = (PAIRING, STABLE, KEYS, CLOSURES)
