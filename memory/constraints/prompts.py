"""The words a distiller of pairs gets, and the shape of its answer. Nothing else."""

from typing import Final

from memory.constraints.contrast_entities import PairClass
from memory.constraints.entities import MAX_ENTRIES, PART
from memory.constraints.replies import Material

ANSWER = 700
"""The most tokens of an answer."""


_TASK: Final = {
    PairClass.DISCORDANT: (
        "Two agents attempted the same task. The first run succeeded, the second failed. Say what"
        " separates the success from the failure, so that any agent, whatever model it runs on, can"
        " keep to it on other tasks of this kind."
    ),
    PairClass.BOTH_RIGHT: (
        "Two agents attempted the same task and both succeeded; the first took far less. Say what"
        " made it shorter, so that any agent, whatever model it runs on, can keep to it on other"
        " tasks of this kind."
    ),
    PairClass.BOTH_WRONG: (
        "Two agents attempted the same task and both failed. Nobody knows here what would have been"
        " right: say only what to avoid, if the runs show it, on other tasks of this kind. Leave"
        " `enforce` null."
    ),
}


_SEVERAL: Final = (
    "Several tasks of one kind are given, each with a run that succeeded and a run that failed. Say"
    " what separates success from failure in more than one of them, so that any agent, whatever"
    " model it runs on, can keep to it on other tasks of this kind. Each entry is then judged on"
    " other pairs of runs, by somebody who is not told which of them succeeded."
)


_RULES: Final = (
    "Do not solve the task and do not correct the runs. Look at how they are built: conditions that"
    " were kept or dropped, quantities that were named or skipped, the method chosen, the order of"
    " steps, limits and special cases. Slips of arithmetic, style and the final answer are not"
    " wanted, nor is what only tells the two agents apart.\n"
    "At most {entries} entries, strongest first, and none at all where the runs show nothing of"
    " general use. `trigger`: the kind of situation, recognisable beforehand, to be read after the"
    " word When. `enforce`: what to do then, to be read after the word enforce. `avoid`: what not"
    " to do, to be read after the word avoid, or null. Each is a part of one sentence of at most"
    " {characters} characters.\n"
    "Each rests on something that can be seen in the runs. Name no number, name, quotation or"
    " identifier of this task, no agent, no tool and no credential."
)


_PART: Final[dict[str, object]] = {"type": "string", "maxLength": PART}


_OPTIONAL: Final[dict[str, object]] = {"type": ["string", "null"], "maxLength": PART}


SCHEMA: Final[dict[str, object]] = {
    "type": "object",
    "properties": {
        "entries": {
            "type": "array",
            "maxItems": MAX_ENTRIES,
            "items": {
                "type": "object",
                "properties": {"trigger": _PART, "enforce": _OPTIONAL, "avoid": _OPTIONAL},
                "required": ["trigger", "enforce", "avoid"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["entries"],
    "additionalProperties": False,
}


REFUSED: Final = (
    "You have worded constraints for this pair already, and some were refused. Word these anew so"
    " that the reason named with each no longer holds, and leave out what cannot be said so.\n"
    "`literal`: it names a thing of this one task. `agent_name`: it names an agent."
    " `not_one_sentence`: a part is no single sentence. `no_trigger`: it would apply always."
    " `no_enforce`: it says nothing to do. `commands_tools`: it orders a tool to be called."
    " `instruction_like`: it gives orders to whoever reads it."
)
"""Added where a wording is asked for again."""


def asked_of_several() -> str:
    """What is to be done with several pairs of different tasks at once."""
    rules = _RULES.format(entries=MAX_ENTRIES, characters=PART)
    return f"{_SEVERAL}\n{rules}"


def asked(pair_class: PairClass) -> str:
    """What is to be done with a pair of this class."""
    rules = _RULES.format(entries=MAX_ENTRIES, characters=PART)
    return f"{_TASK[pair_class]}\n{rules}"


def parts(material: Material) -> list[tuple[str, str]]:
    """Title and text of what is given, as it was written by others: to be quoted."""
    titles = {
        PairClass.DISCORDANT: ("The run that succeeded", "The run that failed"),
        PairClass.BOTH_RIGHT: ("The shorter run", "The longer run"),
        PairClass.BOTH_WRONG: ("One run", "The other run"),
    }
    first, second = titles[material.pair_class]
    return [
        ("Task", material.task),
        (first, material.preferred),
        (second, material.unpreferred),
    ]
