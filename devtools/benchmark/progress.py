# SPDX-License-Identifier: BSD-3-Clause
"""What the benchmark is at, on standard error."""
import sys


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def rounds(count: int, what: str):
    """Counts from 0, and shows it."""
    for number in range(count):
        end = "\r" if sys.stderr.isatty() and number + 1 < count else "\n"
        if sys.stderr.isatty() or number in (0, count - 1):
            print(f"  {what}: round {number + 1} of {count}", end=end, file=sys.stderr, flush=True)
        yield number
