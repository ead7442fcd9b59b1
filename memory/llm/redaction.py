"""Takes secrets out of text before it is sent to a language model or stored with what it said.

Found by form, not by knowledge: keys with a known prefix, bearer tokens, values behind a name such
as `password`, passwords inside addresses, private keys. A secret that looks like a plain word
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
    re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}"),
)


# What stands before the secret is kept: it says what was there.
_NAMED = (
    re.compile(r"(\bbearer\s+)[\w.~+/=-]{8,}", re.IGNORECASE),
    re.compile(r"(\bbasic\s+)[A-Za-z0-9+/]{12,}={0,2}", re.IGNORECASE),
    re.compile(r"(://[^\s:/@]{0,100}:)[^\s/@]{1,200}(?=@)"),
    re.compile(
        rf"((?:{_NAMES})[\w-]{{0,20}}\\?[\"']?\s*(?::|=>?)\s*){_VALUE}",
        re.IGNORECASE,
    ),
    re.compile(r"(\btoken\\?[\"']?\s*[:=]\s*)[\"']?(?=\S*\d)[\w.~+/=-]{12,}[\"']?", re.IGNORECASE),
    re.compile(r"(\b(?:password|passphrase|secret)\s+is\s+)(?=\S*\d)\S+", re.IGNORECASE),
)


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
