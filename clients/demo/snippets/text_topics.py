"""Topics about texts: prefixes, case, titles, patterns, tables in texts."""

from collections.abc import Sequence
from random import Random

from clients.demo.snippets.topic import Drawn, Topic, check, solve

PREFIXES = ("sku-", "tmp_", "www.", "draft-", "old-", "test_", "user:", "img-")
STEMS = ("lamp", "report", "index", "market", "garden", "photo", "budget", "letter")


def _prefix(random: Random, *, hard: bool) -> Drawn:
    prefix = random.choice(PREFIXES)
    # What follows begins with a letter of the prefix, or with none of them.
    own = [letter for letter in prefix if letter.isalpha()]
    others = [letter for letter in "bcfhjlnqvyz" if letter not in prefix]
    rests = [random.choice(others) + random.choice(STEMS) for _ in range(3)]
    if hard:
        rests[0] = random.choice(own) + rests[0]
    if hard and random.choice((True, False)):
        rests[1] = f"{rests[1]}-{prefix}{random.choice(STEMS)}"
    checks = [check(solve(prefix + rest, prefix), rest) for rest in rests]
    checks.append(check(solve(rests[2], prefix), rests[2]))
    return Drawn({"prefix": prefix}, tuple(checks))


PREFIX = Topic(
    key="prefix",
    language="python",
    parameters=("text", "prefix"),
    first_idea="text.replace(prefix, '')",
    situations=(
        "Removing a known prefix from the start of a string",
        "Cutting a fixed prefix off the beginning of a string",
    ),
    right="Use `text.removeprefix(prefix)`; where the string does not start with it, nothing "
    "happens.",
    wrong="`text.lstrip(prefix)` strips the prefix from the left, and nothing else needs doing.",
    beside=(
        "Testing whether a string starts with one of several prefixes",
        "startswith takes a tuple: `text.startswith(tuple(prefixes))`.",
    ),
    wordings=(
        (
            "Remove the prefix '{prefix}' from the start of a string that names {things}, "
            "where it is there."
        ),
        "Drop the leading '{prefix}' from identifier strings ({things}).",
        (
            "Some strings begin with '{prefix}', others do not. Return the string without "
            "that beginning."
        ),
        "Cleaning an import of {things}: cut the fixed prefix '{prefix}' off each string.",
        "Strip a known beginning such as '{prefix}' off the start of a string.",
        "Our names of {things} carry '{prefix}' in front. Take that prefix off the string.",
    ),
    draw=_prefix,
)

GERMAN = (("Straße", "STRASSE"), ("Maß", "MASS"), ("Gruß", "gruss"), ("Fuß", "FUSS"))
PLAIN = (("Berlin", "BERLIN"), ("Ann", "ann"), ("TEA", "Tea"), ("Monday", "monday"))


def _casefold(random: Random, *, hard: bool) -> Drawn:
    same = random.sample(PLAIN, 2)
    if hard:
        same[1] = random.choice(GERMAN)
    other = random.choice(("Bonn", "Hall", "Mint"))
    checks = [check(solve(left, right), expected=True) for left, right in same]
    checks.append(check(solve(same[0][0], other), expected=False))
    return Drawn({}, tuple(checks))


CASEFOLD = Topic(
    key="casefold",
    language="python",
    parameters=("left", "right"),
    first_idea="left.lower() == right.lower()",
    situations=(
        "Comparing two strings without regard to upper and lower case",
        "Testing whether two words are equal whatever their capitals",
    ),
    right="Compare what casefold gives, it knows about letters of other languages: "
    "`left.casefold() == right.casefold()`.",
    wrong="Bring both to small letters, that is all it takes: `left.lower() == right.lower()`.",
    beside=(
        "Sorting a list of words without regard to upper and lower case",
        "Give sorted a key: `sorted(words, key=str.casefold)`.",
    ),
    wordings=(
        (
            "Do two strings name the same {things}, if upper and lower case do not count? "
            "Some are German."
        ),
        "Say whether two labels are equal but for capitals; they may be in German.",
        "Compare two words about {things}, ignoring case.",
        "Match what a user typed against a stored name, whatever the capitals.",
        "Compare two strings case-insensitively, also when they are not English ({things}).",
        "Is it the same word in upper and in lower case? Test two strings for that.",
    ),
    draw=_casefold,
)

CONTRACTED = ("it's late", "don't panic", "the dog's dinner", "we're here", "let's go home")
SIMPLE: Sequence[str] = (
    "a quiet street",
    "green tea",
    "the long way home",
    "two small boats",
    "open all night",
)


def _title(random: Random, *, hard: bool) -> Drawn:
    texts = random.sample(SIMPLE, 3)
    if hard:
        texts[random.randrange(3)] = random.choice(CONTRACTED)
    checks = (check(solve(text), _capitals(text)) for text in texts)
    return Drawn({"example": random.choice(SIMPLE)}, tuple(checks))


def _capitals(text: str) -> str:
    return " ".join(word[0].upper() + word[1:] for word in text.split(" "))


TITLE = Topic(
    key="title",
    language="python",
    parameters=("headline",),
    first_idea="' '.join(word.title() for word in headline.split())",
    situations=(
        "Capitalising every word of a headline",
        "Writing the words of a title with a capital first letter",
    ),
    right="Use `string.capwords(headline)`: it splits at blanks only.",
    wrong="Strings can do it themselves: `headline.title()`.",
    beside=(
        "Capitalising only the first word of a sentence",
        "`sentence[:1].upper() + sentence[1:]` leaves the rest as it is.",
    ),
    wordings=(
        "Headlines about {things} arrive in small letters. Capitalise each word.",
        "Give every word of a title such as '{example}' a capital first letter.",
        "Titles for a catalogue of {things}: each word starts with a capital.",
        "Turn '{example}' and the like into a headline, every word with a capital.",
        "A chapter heading needs a capital at the start of every word.",
        "Format the headline of an article on {things}: first letters up, the others as they are.",
    ),
    draw=_title,
)

PATTERNS = (
    (r"\d{4}", ("2024", "0815"), ("2024b", "12345")),
    (r"[A-Z]{2}\d+", ("AB12", "XY7"), ("AB12-", "XY7 z")),
    (r"yes|no", ("yes", "no"), ("yesterday", "nowhere")),
    (r"[a-z]+", ("oak", "elm"), ("oak1", "elm tree")),
    (r"\d+\.\d\d", ("1.50", "20.00"), ("1.505", "20.00x")),
)


def _fullmatch(random: Random, *, hard: bool) -> Drawn:
    pattern, fits, longer = random.choice(PATTERNS)
    checks = [check(solve(text, pattern), expected=True) for text in fits]
    checks.append(check(solve(f"?{fits[0]}", pattern), expected=False))
    if hard:
        text = random.choice((*longer, f"{fits[1]}\n"))
        checks.append(check(solve(text, pattern), expected=False))
    return Drawn({"pattern": pattern}, tuple(checks))


FULLMATCH = Topic(
    key="fullmatch",
    language="python",
    parameters=("entry", "pattern"),
    first_idea="re.search('^' + pattern + '$', entry) is not None",
    situations=(
        "Validating a whole input against a regular expression",
        "Checking that an entry matches a regex from its first to its last character",
    ),
    right="`re.fullmatch(pattern, entry) is not None` is true only when all of it fits.",
    wrong="`re.match(pattern, entry) is not None` is what validates an input.",
    beside=(
        "Finding all places where a regular expression fits in a text",
        "`[found.group() for found in re.finditer(pattern, document)]` gives them in order.",
    ),
    wordings=(
        (
            "A form for {things} has a field. Is the entry valid, does all of it match the "
            "regex {pattern}?"
        ),
        "Accept a string only if the whole of it matches the regular expression {pattern}.",
        "Validate user input against the regex {pattern}; nothing may be left over.",
        "Check entries on {things}: the complete text has to match the pattern {pattern}.",
        "Does an entry consist of {pattern}, from the first character to the last?",
        "Validator for a column of {things}: regular expression {pattern}, whole values only.",
    ),
    draw=_fullmatch,
)


def _csv(random: Random, *, hard: bool) -> Drawn:
    names = random.sample(("ann", "bob", "cleo", "dan", "eve"), 3)
    cities = random.sample(("Rome", "Oslo", "Lima", "Bern"), 3)
    rows = [[name, city] for name, city in zip(names, cities, strict=True)]
    texts = [rows, rows[:1]]
    if hard:
        odd = random.choice(("Rome, Italy", "first line\nsecond line", 'the "old" town'))
        texts.append([rows[0], [names[1], odd]])
    return Drawn({}, tuple(check(solve(_as_csv(rows)), rows) for rows in texts))


def _as_csv(rows: list[list[str]]) -> str:
    def cell(text: str) -> str:
        quoted = text.replace('"', '""')
        return f'"{quoted}"' if set(text) & set(',\n"') else text

    return "".join(",".join(cell(text) for text in row) + "\r\n" for row in rows)


CSV = Topic(
    key="csv",
    language="python",
    parameters=("document",),
    first_idea="[row.split(',') for row in document.strip().split('\\r\\n')]",
    situations=(
        "Reading the rows of a CSV file that is in memory as a string",
        "Taking comma-separated text apart into rows and fields",
    ),
    right="Let the csv module do it, and keep the line ends as they are: "
    "`list(csv.reader(io.StringIO(document, newline='')))`.",
    wrong="No need for a module: `[row.split(',') for row in document.splitlines()]`.",
    beside=(
        "Writing a row of a CSV file",
        "The writer quotes where that is needed: `csv.writer(file).writerow(fields)`.",
    ),
    wordings=(
        "A partner sends {things} as a CSV file. Return its rows as lists of fields.",
        "Parse a CSV text with comma-separated fields into rows.",
        "Read comma-separated text (it lists {things}) into a list of rows.",
        "Take a CSV export of {things} apart: one list a row, one string a field.",
        "The upload is a CSV file in a string. Give its rows and fields.",
        "Split comma-separated rows into their fields, as a spreadsheet would read them.",
    ),
    draw=_csv,
)

TOPICS = (PREFIX, CASEFOLD, TITLE, FULLMATCH, CSV)
