"""Topics about SQL as SQLite speaks it: NULL, case, dates, joins, types."""

from collections.abc import Mapping, Sequence
from random import Random

from clients.demo.snippets.topic import Check, Drawn, Topic, check

PEOPLE = ("Ann", "Bob", "Cleo", "Dan", "Eve", "Fay", "Gus", "Hal")
YEAR = 2020
CITIES = ("Bern", "Lima", "Oslo", "Rome")

Rows = Sequence[tuple[object, ...]]


def _query(tables: Mapping[str, Rows], expected: Rows, **values: object) -> Check:
    """That the query gives these rows from these tables."""
    named = "".join(f", {name}={value!r}" for name, value in values.items())
    return check(
        f"solve({ {name: list(rows) for name, rows in tables.items()}!r}{named})", expected
    )


def _like(random: Random, *, hard: bool) -> Drawn:
    start = random.choice(("Mac", "Van", "De", "La"))
    names = [start + end for end in random.sample(("ra", "nel", "mont", "dor"), 2)]
    others = [(3, "Smith"), (4, "Okoro")]
    if hard:
        others.append((5, start.lower() + random.choice(("ville", "berg"))))
    rows = [*enumerate(names, start=1), *others]
    expected = [(name,) for name in sorted(names)]
    checks = (
        _query({"customer": rows}, expected, start=start),
        _query({"customer": []}, [], start=start),
    )
    return Drawn({"start": start}, checks)


LIKE = Topic(
    key="like",
    language="sql",
    parameters=("start",),
    first_idea="SELECT name FROM customer WHERE name LIKE :start || '%' ORDER BY name",
    situations=(
        "SQLite: names that begin with given letters, upper and lower case being different",
        "A case-sensitive search for the beginning of a name in SQLite",
    ),
    right="GLOB minds the case: "
    "`SELECT name FROM customer WHERE name GLOB :start || '*' ORDER BY name`.",
    wrong="LIKE compares letters as they are: "
    "`SELECT name FROM customer WHERE name LIKE :start || '%' ORDER BY name`.",
    beside=(
        "SQLite: finding names that contain some text anywhere",
        "Look for its place: `SELECT name FROM customer WHERE instr(name, :part) > 0`.",
    ),
    wordings=(
        "SQLite: which customers have a name beginning with '{start}', in exactly this case?",
        "Query customers (they buy {things}) by the first letters of the name, case-sensitively.",
        "SQL: list customers whose name begins with '{start}' in just this upper and lower case.",
        (
            "Case-sensitive search in SQLite for customers of {things} whose names begin "
            "with '{start}'."
        ),
        "Names in the table of customers that begin with '{start}'; mind upper and lower case.",
        "Find customers of {things} in SQLite by the beginning of the name. The case has to match.",
    ),
    draw=_like,
    schema="CREATE TABLE customer (id INTEGER, name TEXT)",
)


def _not_in(random: Random, *, hard: bool) -> Drawn:
    names = random.sample(PEOPLE, 4)
    managers: list[int | None] = [3, 1, 1, 1]
    if hard:
        managers[0] = None
    rows = [(n, name, managers[n - 1]) for n, name in enumerate(names, start=1)]
    managing = {manager for manager in managers if manager is not None}
    expected = [(name,) for n, name, _ in sorted(rows, key=lambda row: row[1]) if n not in managing]
    return Drawn({"name": names[0]}, (_query({"employee": rows}, expected),))


NOT_IN = Topic(
    key="not in",
    language="sql",
    parameters=(),
    first_idea="SELECT name FROM employee WHERE id NOT IN (SELECT manager_id FROM employee) "
    "ORDER BY name",
    situations=(
        "SQL: employees or other rows whose id no row refers to",
        "SQL: finding those that nothing refers to, when the referring column may be NULL",
    ),
    right="NOT EXISTS is not confused by NULL: `SELECT name FROM employee AS e WHERE NOT EXISTS "
    "(SELECT 1 FROM employee WHERE manager_id = e.id) ORDER BY name`.",
    wrong="A subquery reads best: `SELECT name FROM employee WHERE id NOT IN "
    "(SELECT DISTINCT manager_id FROM employee) ORDER BY name`.",
    beside=(
        "SQL: employees together with the names of their managers",
        (
            "Join the table with itself: `SELECT e.name, m.title FROM employee AS e "
            "JOIN manager AS m ON m.id = e.manager_id`."
        ),
    ),
    wordings=(
        (
            "SQL: which employees manage nobody? Their id does not occur as manager_id, "
            "which may be NULL."
        ),
        "List employees whose id does not occur in the column manager_id of any row.",
        "SQL: names of all staff of a shop for {things} that no manager_id refers to.",
        "Find rows of employee that no other row refers to as its manager.",
        (
            "SQL query: employees that nobody has as manager ({things} department); "
            "manager_id may be NULL."
        ),
        "Which ids of employee do not occur in manager_id, some of which are NULL? Give the names.",
    ),
    draw=_not_in,
    schema="CREATE TABLE employee (id INTEGER, name TEXT, manager_id INTEGER)",
)


def _count(random: Random, *, hard: bool) -> Drawn:
    cities = sorted(random.sample(CITIES, 2))
    rows: list[tuple[object, ...]] = []
    for city in cities:
        rows += [(city, f"2025-03-{random.randint(10, 28)}") for _ in range(random.randint(1, 3))]
    if hard:
        rows.append((cities[0], None))
    expected = [(city, sum(row[0] == city for row in rows)) for city in cities]
    return Drawn({"city": cities[0]}, (_query({"delivery": rows}, expected),))


COUNT = Topic(
    key="count",
    language="sql",
    parameters=(),
    first_idea="SELECT city, COUNT(*) FROM delivery GROUP BY city ORDER BY city",
    situations=(
        "SQL: counting the rows of every group",
        "SQL: how many rows there are of each kind, with GROUP BY",
    ),
    right="COUNT(*) counts rows, a column would skip NULL: "
    "`SELECT city, COUNT(*) AS total FROM delivery GROUP BY city ORDER BY city`.",
    wrong="Count a column, that is quicker than the star: "
    "`SELECT city, COUNT(arrived) FROM delivery GROUP BY city ORDER BY city`.",
    beside=(
        "SQL: keeping only groups with at least so many rows",
        (
            "Groups are filtered by HAVING: `SELECT city FROM delivery GROUP BY city "
            "HAVING COUNT(*) >= :least`."
        ),
    ),
    wordings=(
        "SQL: how many deliveries go to each city? Count all rows, arrived or not.",
        "Count the rows of table delivery by city with GROUP BY, for the trade in {things}.",
        "SQL: group deliveries of {things} by city and count every row.",
        "Number of rows for each city in table delivery, {city} and others.",
        "SQL: report how many deliveries of {things} there are of each city, also those under way.",
        "GROUP BY city: how many rows has each group of deliveries?",
    ),
    draw=_count,
    schema="CREATE TABLE delivery (city TEXT, arrived TEXT)",
)


def _between(random: Random, *, hard: bool) -> Drawn:
    first, last = "2025-05-01", f"2025-05-{random.randint(20, 30)}"
    rows = [
        (1, f"2025-05-{random.randint(10, 18)} 09:30:00"),
        (2, f"2025-05-0{random.randint(2, 9)} 17:05:00"),
        (3, "2025-06-02 08:00:00"),
    ]
    expected = [(1,), (2,)]
    if hard:
        rows.append((4, f"{last} {random.randint(10, 22)}:15:00"))
        expected.append((4,))
    return Drawn({"last": last}, (_query({"payment": rows}, expected, first=first, last=last),))


BETWEEN = Topic(
    key="between",
    language="sql",
    parameters=("first", "last"),
    first_idea="SELECT id FROM payment WHERE paid_at >= :first AND paid_at <= :last ORDER BY id",
    situations=(
        "SQL: rows of a period when the column holds date and time",
        "SQL: selecting timestamps from a first to a last day, both included",
    ),
    right="Go up to the day after: `SELECT id FROM payment WHERE paid_at >= :first AND "
    "paid_at < date(:last, '+1 day') ORDER BY id`.",
    wrong="BETWEEN includes both ends: "
    "`SELECT id FROM payment WHERE paid_at BETWEEN :first AND :last ORDER BY id`.",
    beside=(
        "SQL: the newest row of a table with timestamps",
        (
            "Sort and take one: `SELECT id FROM payment WHERE payer = :payer "
            "ORDER BY paid_at DESC LIMIT 1`."
        ),
    ),
    wordings=(
        (
            "SQL: payments from a first to a last day, the whole of {last} included; paid_at "
            "has a time."
        ),
        "Select payments of a period, both days included; the column paid_at holds date and time.",
        "SQL: rows of table payment between two dates, inclusive ({things}).",
        "Select all timestamps of payments for {things} up to and including the day {last}.",
        "SQL for a monthly statement: payments from the first day through the last day.",
        "Select payments whose timestamps fall into a period, first and last day included.",
    ),
    draw=_between,
    schema="CREATE TABLE payment (id INTEGER, paid_at TEXT)",
)


def _outer(random: Random, *, hard: bool) -> Drawn:
    names = sorted(random.sample(PEOPLE, 3))
    authors = list(enumerate(names, start=1))
    years = {1: [2021, 2023], 2: [2022], 3: [2024] if not hard else random.choice(([2010], [2001]))}
    books = [(author, year) for author, found in years.items() for year in found]
    expected = [(name, sum(year > YEAR for year in years[n])) for n, name in authors]
    return Drawn({}, (_query({"author": authors, "book": books}, expected, year=YEAR),))


OUTER = Topic(
    key="outer",
    language="sql",
    parameters=("year",),
    first_idea="SELECT author.name, COUNT(*) FROM author JOIN book ON book.author_id = author.id "
    "AND book.year > :year GROUP BY author.id ORDER BY author.name",
    situations=(
        "SQL: counting related rows by a condition, with zero where there are none",
        "SQL: a LEFT JOIN that counts rows by a condition on the table to the right",
    ),
    right="The condition belongs into ON: `SELECT author.name, COUNT(book.year) FROM author "
    "LEFT JOIN book ON book.author_id = author.id AND book.year > :year "
    "GROUP BY author.id ORDER BY author.name`.",
    wrong="Join first, then filter: `SELECT author.name, COUNT(book.year) FROM author "
    "LEFT JOIN book ON book.author_id = author.id WHERE book.year > :year "
    "GROUP BY author.id ORDER BY author.name`.",
    beside=(
        "SQL: rows of one table that have no partner in another",
        (
            "Join and keep what found nothing: `SELECT author.name FROM author LEFT JOIN book "
            "ON book.author_id = author.id WHERE book.author_id IS NULL`."
        ),
    ),
    wordings=(
        (
            "SQL: for every author, count the books that came out after a year, zero where "
            "there are none."
        ),
        (
            "LEFT JOIN authors with recent books about {things} and count them; keep authors "
            "with zero."
        ),
        "SQL: count books newer than a given year for each author, zero included.",
        (
            "Join authors to books on {things} with a condition on the year and count; "
            "nobody may be missing."
        ),
        (
            "SQL: count related rows, the later books of each author, with zero for authors "
            "without any."
        ),
        (
            "SQL: each author with the count of books after the year asked for, also if "
            "there are none."
        ),
    ),
    draw=_outer,
    schema="CREATE TABLE author (id INTEGER, name TEXT); "
    "CREATE TABLE book (author_id INTEGER, year INTEGER)",
)


def _missing(random: Random, *, hard: bool) -> Drawn:
    rows: list[tuple[object, ...]] = [(n, random.choice(("open", "closed"))) for n in range(1, 5)]
    if hard:
        rows[random.randrange(4)] = (9, None)
    expected = [(row[0],) for row in sorted(rows, key=str) if row[1] != "open"]
    return Drawn({}, (_query({"ticket": rows}, expected, state="open"),))


MISSING = Topic(
    key="missing",
    language="sql",
    parameters=("state",),
    first_idea="SELECT id FROM ticket WHERE NOT state = :state ORDER BY id",
    situations=(
        "SQL: rows whose column differs from a value, NULL included",
        "SQL: selecting all rows but those with one value, when the column may be NULL",
    ),
    right="IS NOT compares with NULL as well: "
    "`SELECT id FROM ticket WHERE state IS NOT :state ORDER BY id`.",
    wrong="Unequal is written with angle brackets, NULL is unequal to all: "
    "`SELECT id FROM ticket WHERE state <> :state ORDER BY id`.",
    beside=(
        "SQL: rows whose column has one of several values",
        "Name them in a list: `SELECT id FROM ticket WHERE state IN (:one, :other)`.",
    ),
    wordings=(
        "SQL: tickets on {things} whose state differs from a value; those with NULL count too.",
        "Select rows whose column state differs from the given value or is NULL.",
        "SQL: which tickets differ in state from the one given? A state that is NULL differs too.",
        "SQL: select all rows of ticket but those with one state; the column may be NULL.",
        (
            "Select all tickets on {things} except those with one value in the column state, "
            "keep NULL."
        ),
        "SQL: every ticket but those with this value of state; do not lose rows with NULL.",
    ),
    draw=_missing,
    schema="CREATE TABLE ticket (id INTEGER, state TEXT)",
)


def _union(random: Random, *, hard: bool) -> Drawn:
    cash = random.sample(range(10, 50), 2)
    card = random.sample(range(50, 90), 2)
    if hard:
        card.append(random.choice(cash))
    tables = {"cash_sale": [(amount,) for amount in cash], "card_sale": [(one,) for one in card]}
    expected = [(amount,) for amount in sorted([*cash, *card])]
    return Drawn({}, (_query(tables, expected),))


UNION = Topic(
    key="union",
    language="sql",
    parameters=(),
    first_idea="SELECT amount FROM cash_sale UNION SELECT amount FROM card_sale ORDER BY 1",
    situations=(
        "SQL: combining the rows of two tables into one list",
        "SQL: putting the results of two queries one below the other",
    ),
    right="UNION ALL keeps every row: `SELECT amount FROM cash_sale UNION ALL "
    "SELECT amount FROM card_sale ORDER BY amount`.",
    wrong="UNION appends one to the other: `SELECT amount FROM cash_sale UNION "
    "SELECT amount FROM card_sale ORDER BY amount`.",
    beside=(
        "SQL: values that occur in both of two tables",
        (
            "Intersect them: `SELECT amount FROM cash_sale INTERSECT "
            "SELECT amount FROM refund ORDER BY amount`."
        ),
    ),
    wordings=(
        "SQL: combine the rows of cash_sale and card_sale into one list, each sale once, sorted.",
        "Combine the amounts of two tables of sales ({things}) into one list, none left out.",
        "SQL: put the rows of two tables of sales one below the other; equal amounts stay.",
        "SQL: results of two queries on sales of {things} in one list, sorted by amount.",
        "One list of all rows of two tables, cash_sale and card_sale, by amount.",
        "SQL: combine the takings for {things} from two tables, row by row, into one list.",
    ),
    draw=_union,
    schema="CREATE TABLE cash_sale (amount INTEGER); CREATE TABLE card_sale (amount INTEGER)",
)


def _digits(random: Random, *, hard: bool) -> Drawn:
    sizes = random.sample(range(10, 99), 4)
    if hard:
        sizes[0], sizes[1] = random.randint(2, 9), 10 * random.randint(11, 19)
    rows = [(str(size),) for size in sizes]
    expected = [(str(size),) for size in sorted(sizes)]
    return Drawn({"size": str(sizes[0])}, (_query({"screw": rows}, expected),))


DIGITS = Topic(
    key="digits",
    language="sql",
    parameters=(),
    first_idea="SELECT size FROM screw ORDER BY size",
    situations=(
        "SQL: sorting a text column that holds numbers",
        "ORDER BY on numbers that are stored as text",
    ),
    right="Sort by what they mean: `SELECT size FROM screw ORDER BY CAST(size AS INTEGER)`.",
    wrong="The database sees that they are numbers: `SELECT size FROM screw ORDER BY size ASC`.",
    beside=(
        "SQL: padding numbers with zeros for display",
        "Let printf do it: `SELECT printf('%05d', number) FROM invoice`.",
    ),
    wordings=(
        "SQL: sort the sizes of screws from small to large; the text column holds numbers.",
        "ORDER BY a text column by number (spare parts for {things}).",
        "SQL: numbers such as '{size}' are stored as text. Sort them by value.",
        "Sort rows of table screw ascending by a column of numbers that is text.",
        "SQL: a catalogue of {things} sorted by size, 9 before 10; sizes are stored as text.",
        "ORDER BY size as a number, though the column is stored as text.",
    ),
    draw=_digits,
    schema="CREATE TABLE screw (size TEXT)",
)

TOPICS = (LIKE, NOT_IN, COUNT, BETWEEN, OUTER, MISSING, UNION, DIGITS)
