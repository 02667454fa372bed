# SPDX-License-Identifier: BSD-3-Clause
"""Compares what a page of the guide says that a program prints with what it prints.

A literal block whose first line is `$ build/test/examples/PROGRAM ARGUMENTS` is run; its other lines must be the
output. Addresses of memory, which differ from run to run, are compared as equal. `...` on a line of its own
stands for lines that the page leaves out.

usage: check_guide.py [--print] PROGRAM PAGE.rst
"""
import os
import re
import subprocess
import sys

ADDRESS = re.compile(r"0x[0-9a-f]{9,16}")


def blocks(page: str):
    """(arguments, lines) of each block that shows a run."""
    lines = page.splitlines()
    for at, line in enumerate(lines):
        shown = re.match(r"( +)\$ (?:\S*/)?([\w-]+) ?(.*)$", line)
        if not shown:
            continue
        indent, name, arguments = shown.groups()
        body = []
        for follow in lines[at + 1:]:
            if follow.strip() and not follow.startswith(indent):
                break
            body.append(follow[len(indent):].rstrip())
        while body and not body[-1]:
            body.pop()
        yield name, arguments.split(), body


def masked(lines):
    return [ADDRESS.sub("ADDRESS", line.rstrip()) for line in lines]


def matches(wanted, got) -> bool:
    """Whether `got` is `wanted`, with `...` for any number of lines."""
    if not wanted:
        return not got
    if wanted[0] == "...":
        return any(matches(wanted[1:], got[skip:]) for skip in range(len(got) + 1))
    return bool(got) and wanted[0] == got[0] and matches(wanted[1:], got[1:])


def main() -> int:
    program, page = [a for a in sys.argv[1:] if a != "--print"]
    with open(page, encoding="utf-8") as file:
        text = file.read()
    checked = wrong = 0
    for name, arguments, wanted in blocks(text):
        if name != os.path.basename(program):
            continue
        done = subprocess.run([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60,
                              check=False)
        got = done.stdout.splitlines()
        checked += 1
        if "--print" in sys.argv:
            print("$", name, *arguments, *got, "", sep="\n")
        elif not matches(masked(wanted), masked(got)):
            wrong += 1
            print(f"{page}: {' '.join([name, *arguments])} does not print\n    " + "\n    ".join(wanted) + "\nbut\n    " +
                  "\n    ".join(got))
    print(f"{checked} outputs compared, {wrong} wrong")
    return 1 if wrong or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
