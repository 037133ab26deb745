"""How much is asked for on a command line. Nothing at all would pass, and show nothing."""

from __future__ import annotations

import argparse


def one_or_more(text: str) -> int:
    """For argparse."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not allowed; allowed: a whole number from 1")
    return number
