"""Names of failures.py under the module that they were in; goes with its last caller."""

from hardwon.text.failures import (
    Failure,
    complains,
    find_names,
    make_key,
    read_failure,
    shows_failure,
)

__all__ = ["Failure", "complains", "find_names", "make_key", "read_failure", "shows_failure"]
