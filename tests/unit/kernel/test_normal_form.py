import pytest

from memory.kernel import normal_form as normal_form_module
from memory.kernel.normal_form import look_alike_form, normal_form


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Restart the workers.", "restart the workers"),
        ("RESTART  the\n workers!!", "restart the workers"),
        ("Use “Redis”, then wait", 'use "redis" then wait'),
        ("background jobs", "back-ground jobs"),
        ("restart", "re-\n  start"),
        ("1,000 rows", "1000 rows"),
        ("1\u202f000 rows", "1000 rows"),
        ("do not wait", "don't wait"),
        ("do not wait", "don\u2019t wait"),
        ("cannot", "can't"),
        ("we will, they are", "we'll they're"),
        ("wait , then go", "wait then go"),
    ],
)
def test_clothes_make_no_difference(one, other):
    assert normal_form(one) == normal_form(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("increase the batch", "decrease the batch"),
        ("attempts < limit", "attempts > limit"),
        ("status == done", "status != done"),
        ("a <> b", "a >< b"),
        ("--force", "--dry-run"),
        ("--force", "-force"),
        ("-3", "3"),
        ("1.5", "15"),
        ("1.000", "1000"),
        ("prod-east", "prod-west"),
        ("a/b.py", "a/c.py"),
        (".env", "env"),
        ("..", "."),
        ("x ? y : z", "x y z"),
        ("run `A  B`", "run `A B`"),
        ("run `LS`", "run `ls`"),
        ("```\n\ta\n```", "```\na\n```"),
        ("do not wait", "do wait"),
        ("before a", "after a"),
    ],
)
def test_what_says_something_else_stays_apart(one, other):
    assert normal_form(one) != normal_form(other)
    assert look_alike_form(one) != look_alike_form(other)


@pytest.mark.parametrize(
    "copy",
    [
        "ASK A PERSON FIRST",
        "Ask a person first!",
        "a\u200bsk a per\u00adson first",
        "\uff21sk a person \uff46irst",
        "ask a person \ufb01rst",
        "\U0001d41ask a person first",
        "\u0430sk a person first",
        "ask \u0430 p\u0435rs\u043en first",
        "\u1d00sk a person first",
        "ask\u00a0a\u3000person first",
    ],
)
def test_a_copy_looks_alike_however_it_is_drawn(copy):
    assert look_alike_form(copy) == look_alike_form("ask a person first")


def test_scripts_are_told_apart_by_their_words():
    assert look_alike_form("очистить кэш") != look_alike_form("не очищать кэш")
    assert look_alike_form("รีสตาร์ทก่อน") != look_alike_form("รีสตาร์ทหลัง")
    assert look_alike_form("vider le cache") != look_alike_form("ne pas vider le cache")


def test_what_is_remembered_of_a_text_has_none_of_its_words():
    look_alike_form("The vault opens with the name of the dog.")

    assert "vault" not in look_alike_form("The vault opens with the name of the dog.")
    assert "vault" not in repr(normal_form_module._forms)
    assert look_alike_form("") == look_alike_form("\N{ZERO WIDTH SPACE}") == ""
