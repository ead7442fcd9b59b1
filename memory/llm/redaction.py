"""Takes secrets out of text before it is sent to a language model or stored with what it said.

Found by form, not by knowledge: keys with a known prefix, bearer tokens, headers that carry
credentials or cookies, values behind a name such as `password`, passwords inside addresses, private
keys. A secret that looks like a plain word
stays; what looks like a secret and is none is lost, which harms less.
"""

import re

REDACTED = "(redacted)"


_NAMES = (
    "password|passwd|passphrase|pwd|secret|api[_-]?key|access[_-]?key|private[_-]?key"
    "|auth[_-]?token|access[_-]?token|refresh[_-]?token|client[_-]?secret|credentials?"
)


_VALUE = (
    r"""(?![\\"']{0,2}\(redacted\))(?:"[^"\r\n]*"|'[^'\r\n]*'|\\"[^"\r\n]*?\\"|[^\s,;"'}\])]+)"""
)


# A secret has a digit among its first characters; further on nobody looks.
_DIGIT = r"[^\s\d]{0,200}+\d"


# Whole blocks first: their lines would otherwise be taken for something smaller.
_SECRETS = (
    re.compile(
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----.*?"
        r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|\Z)",
        re.DOTALL,
    ),
    re.compile(r"\bml_[0-9a-fA-F]{32}_[0-9a-fA-F]{16,}"),
    re.compile(r"\bsk-[\w-]{16,}"),
    re.compile(r"\b(?:A3T[A-Z0-9]|AKIA|ASIA)[A-Z0-9]{16}\b"),
    re.compile(r"\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,})"),
    re.compile(r"\bxox[abeprs]-[\w-]{10,}"),
    re.compile(r"\bAIza[\w-]{30,}"),
    # From the beginning of a row of such characters: else each "eyJ" in it would be looked behind.
    re.compile(r"(?<![\w-])(?:[\w-]{0,40}?-)?eyJ[\w-]{8,}+\.[\w-]{8,}+\.[\w-]{8,}+"),
)


# Between a header's name and its value: in a request as it is sent, in JSON, in code, in a command.
_HEADED = r"""\\?["']?\s{0,20}[:=,]\s{0,20}\\?["']?"""


_PAIR = r"""[\w!#$%&*+.^`|~-]{1,200}=\\?"?[^\s;,"'\\]{0,4096}"?"""


# The first pair, and what follows it with semicolons: more pairs, or the attributes of one.
_COOKIES = rf"{_PAIR}(?:;\s{{0,20}}(?:{_PAIR}|[\w-]{{1,40}})){{0,100}}+"


_PARAMETER = r"""[\w-]{1,40}=(?:\\?"[^"\r\n\\]{0,4096}\\?"|[^\s,"'\\]{1,4096})"""


_WITH_PARAMETERS = "digest|hawk|oauth|signature|mac|hoba|gnap|aws4-hmac-sha256|scram-sha-256|vapid"


_WITH_ONE = "bearer|basic|token|negotiate|ntlm|dpop|api-?key|key|ssws|jwt|bot"


_AUTHORIZATION = rf"\b(?:proxy-)?authori[sz]ation{_HEADED}"


# Headers first: their values have parts that would be taken for something smaller.
_HEADERS = (
    re.compile(rf"(\b(?:set-)?cookie2?{_HEADED}){_COOKIES}", re.IGNORECASE),
    re.compile(rf"""((?<!\S)--cookie(?:=|\s{{1,20}})["']?){_COOKIES}""", re.IGNORECASE),
    re.compile(rf"""(\bcurl\b[^\r\n]{{0,300}}?\s-b\s{{0,20}}["']?){_COOKIES}""", re.IGNORECASE),
    re.compile(
        rf"({_AUTHORIZATION}(?:{_WITH_PARAMETERS})\s{{1,20}})"
        rf"{_PARAMETER}(?:\s{{0,20}},\s{{0,20}}{_PARAMETER}){{0,40}}+",
        re.IGNORECASE,
    ),
    re.compile(rf"""({_AUTHORIZATION}(?:{_WITH_ONE})\s{{1,20}})[^\s"'\\,;]{{4,}}""", re.IGNORECASE),
    re.compile(rf"({_AUTHORIZATION})(?={_DIGIT})[\w.~+/=:-]{{8,}}", re.IGNORECASE),
    re.compile(
        r"(\bx-(?:[a-z0-9]{1,20}-){0,4}(?:token|key|secret|auth|session|signature|jwt|password)"
        rf"""(?:-[a-z0-9]{{1,20}}){{0,2}}{_HEADED})[^\s"'\\,;]{{4,}}""",
        re.IGNORECASE,
    ),
)


# What stands before the secret is kept: it says what was there.
_NAMED = (
    *_HEADERS,
    re.compile(r"(\bbearer\s+)[\w.~+/=-]{8,}", re.IGNORECASE),
    re.compile(r"(\bbasic\s+)[A-Za-z0-9+/]{12,}={0,2}", re.IGNORECASE),
    re.compile(r"(://[^\s:/@]{0,100}:)[^\s/@]{1,200}(?=@)"),
    re.compile(
        rf"((?:{_NAMES})[\w-]{{0,20}}\\?[\"']?\s*(?::|!?={{1,3}}>?)\s*){_VALUE}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(\btoken\\?[\"']?\s*[:=]\s*)[\"']?(?={_DIGIT})[\w.~+/=-]{{12,}}[\"']?", re.IGNORECASE
    ),
    re.compile(rf"(\b(?:password|passphrase|secret)\s+is\s+)(?={_DIGIT})\S+", re.IGNORECASE),
)


# Names of values that are secrets whatever they look like, in small letters with "_" between words.
_SECRET_NAME = re.compile(
    r"password|passwd|passphrase|passcode|secret|credential|authori[sz]ation|cookie|jwt|bearer"
    r"|(?:api|access|private|signing|encryption|session)_?key"
    r"|(?:^|_)(?:token|auth|pwd|pass|pin|otp|cvv|cvc|session_?id|signature)(?:_|$)"
)


_WORD_END = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]{1,64}")


def names_a_secret(name: str) -> bool:
    """Whether what stands under this name is a secret: `api_key`, `Api-Key`, `dbPassword`."""
    return _SECRET_NAME.search(_WORD_END.sub("_", name).lower()) is not None


def redacted(text: str) -> str:
    """`text` with each secret replaced by `(redacted)`; doing it again changes nothing."""
    for pattern in _SECRETS:
        text = pattern.sub(REDACTED, text)
    for pattern in _NAMED:
        text = pattern.sub(_kept, text)
    return text


def _kept(match: re.Match[str]) -> str:
    """The name of the secret without it, in the quotes it had: what is JSON stays JSON."""
    value = match.group(0)[len(match.group(1)) :]
    quote = next((mark for mark in ('\\"', '"', "'") if value.startswith(mark)), "")
    return f"{match.group(1)}{quote}{REDACTED}{quote}"
