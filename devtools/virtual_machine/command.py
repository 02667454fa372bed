# SPDX-License-Identifier: BSD-3-Clause
"""Running the programs that fetch and unpack."""

import subprocess


def run(words: list, error: type[Exception], hint: str, **options) -> None:
    """Runs a program to its end. `error` with what it said when it fails, or with `hint` when it is not there."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    except OSError as missing:
        raise error(f"{words[0]}: {missing.strerror}; {hint}") from missing
    if done.returncode != 0:
        raise error(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
