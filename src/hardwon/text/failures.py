"""What went wrong, in one line that is the same whenever it goes wrong again, and whether anything
went wrong at all.

The work is done by `failure_reports`, whose patterns take longer to compile than everything else
that is imported: it is loaded when the first text is looked at.
"""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from types import ModuleType

from hardwon.errors import InvalidInputError


def error_core(error_text: str) -> str:
    """What failed, in one line of lower case that is the same for the same failure: `typeerror:
    unsupported operand type(s) for +: <q> and <q>`. It is what `failure_hash` hashes, in a form
    that a person can read. "" for a blank text.
    """
    return str(_reports().error_core(error_text))


def failure_hash(error_text: str) -> str:
    """16 hex characters that are the same for the same failure: on another run, machine or user, in
    colour or not, alone or inside a log. Records keep it, so whoever changes what `error_core`
    returns parts the old records from the new.
    """
    if not isinstance(error_text, str):
        raise InvalidInputError.one("error_text", error_text, "text")
    return blake2b(error_core(error_text).encode(errors="surrogatepass"), digest_size=8).hexdigest()


def shows_error(observation: str) -> bool:
    """Whether what a tool answered reports a failure, rather than counting none or only speaking of
    errors.

    It would rather miss a failure than see one where there is none: a success that is taken for a
    failure teaches an agent to avoid what works.
    """
    return bool(_reports().shows_error(observation))


@cache
def _reports() -> ModuleType:
    from hardwon.text import failure_reports

    return failure_reports
