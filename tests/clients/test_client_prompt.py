import re
from pathlib import Path

from memlift_client import SYSTEM_PROMPT

from memory.guidelines.wording import RULES_OF_USE

TYPESCRIPT = Path(__file__).parents[2] / "clients/typescript/src/prompt.ts"


def test_the_clients_prompt_is_the_servers_rules_of_use():
    assert SYSTEM_PROMPT == RULES_OF_USE


def test_the_prompt_of_the_client_in_typescript_is_the_same():
    (literal,) = re.findall(r"SYSTEM_PROMPT = `(.*)`;", TYPESCRIPT.read_text("utf-8"), re.DOTALL)

    assert re.sub(r"\\(.)", r"\1", literal) == RULES_OF_USE
