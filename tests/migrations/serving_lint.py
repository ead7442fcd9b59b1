"""What a migration may not do in one step while a process of the release before serves."""

import re

RULES: tuple[tuple[str, str], ...] = (
    (r"\bDROP TABLE\b", "drops a table"),
    (r"\bDROP COLUMN\b", "drops a column"),
    (
        r"\bALTER TABLE (ONLY )?\S+ RENAME (TO|COLUMN|(?!CONSTRAINT)\w+ TO)\b",
        "renames a table or a column",
    ),
    (r"\bALTER COLUMN \S+ (SET DATA )?TYPE\b", "changes the type of a column"),
    (r"\bALTER COLUMN \S+ DROP DEFAULT\b", "takes a default away"),
    (r"\bALTER COLUMN \S+ SET NOT NULL\b", "requires what was optional"),
    (r"\bADD CONSTRAINT \S+ CHECK\b(?!.*\bNOT VALID\b)", "checks all rows under a lock"),
    (r"\bDROP CONSTRAINT (IF EXISTS )?\W?(pk|uq)_", "drops a key by which rows are upserted"),
    (r"\bDROP INDEX (CONCURRENTLY )?(IF EXISTS )?\W?uq_", "drops a key by which rows are upserted"),
    (r"\bREVOKE\b", "takes a right away"),
)
ADDED = re.compile(r"\bADD COLUMN\b(?P<rest>.*?)(?=, ADD |;|$)", re.IGNORECASE | re.DOTALL)


def find_breaking(statement: str) -> list[str]:
    """Why an older process could not go on, in words; nothing where it can."""
    flat = " ".join(statement.split())
    found = [why for rule, why in RULES if re.search(rule, flat, re.IGNORECASE)]
    for added in ADDED.finditer(flat):
        rest = added["rest"].upper()
        if "NOT NULL" in rest and "DEFAULT" not in rest:
            found.append("adds a column that older processes do not fill")
    return found
