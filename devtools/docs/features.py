# SPDX-License-Identifier: BSD-3-Clause
"""The feature matrix: DPDK's features/<driver>.ini, in which a comment line above each row names the tests that show it.

    ; test/driver/port.py::test_link_down_and_up, test/unit/driver/settings_test.cpp::Settings.LinkByAskingForIt
    Link status          = Y
"""
import os
import re
from dataclasses import dataclass, field

from docs.feature_names import NAMES


@dataclass
class Row:
    line: int
    section: str
    name: str
    value: str
    tests: list[str] = field(default_factory=list)


def read(path: str) -> list[Row]:
    rows, section, tests = [], "", []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.strip()
            if line.startswith("["):
                section = line.strip("[]")
            elif line.startswith("; test/"):
                tests += [test.strip() for test in line[1:].split(",") if test.strip()]
            elif "=" in line and not line.startswith(";"):
                name, value = (part.strip() for part in line.split("=", 1))
                rows.append(Row(number, section, name, value, tests))
                tests = []
    return rows


def has_test(root: str, reference: str) -> bool:
    """Whether FILE::NAME is a test: a function of Python, Suite.Name of GoogleTest, a benchmark's or program's file."""
    file, _, name = reference.partition("::")
    path = os.path.join(root, file)
    if not os.path.isfile(path):
        return False
    with open(path, encoding="utf-8") as source:
        text = source.read()
    if file.endswith(".py"):
        return re.search(rf"^def {re.escape(name)}\(", text, re.MULTILINE) is not None
    suite, _, case = name.partition(".")
    return re.search(rf"^TEST(_F|_P)?\({re.escape(suite)},\s*{re.escape(case)}\)", text, re.MULTILINE) is not None


def complaints(root: str, path: str) -> list[str]:
    """What is wrong with the matrix, one line each."""
    found, where = [], os.path.relpath(path, root)
    for row in read(path):
        at = f"{where}:{row.line}: {row.name}"
        if row.name not in NAMES.get(row.section, ()):
            found.append(f"{at}: DPDK has no such name in [{row.section}]")
        if row.value not in ("Y", "P"):
            found.append(f"{at}: '{row.value}'; Y (all of it) and P (part of it) are known")
        if not row.tests:
            found.append(f"{at}: no comment line above names a test that shows it")
        found += [f"{at}: there is no test {test}" for test in row.tests if not has_test(root, test)]
    return found


def page(path: str) -> str:
    """The matrix as a page of the guide."""
    out = [".. SPDX-License-Identifier: BSD-3-Clause", ".. Made from doc/guide/features/chime.ini. Do not edit.", "",
           "Features", "========", "",
           "Y: all of what DPDK means by the name; P: a part. Every row is shown by tests, on the software HCA; those of",
           "``test/driver`` run on the embedded one and on virtual cards over rdma-core."]
    section = None
    for row in read(path):
        if row.section != section:
            section = row.section
            out += ["", section, "-" * len(section), "", ".. list-table::", "   :header-rows: 1", "   :widths: 3 1 7", "",
                    "   * - feature", "     - ", "     - shown by"]
        shown = [f"``{test}``" for test in row.tests]
        out += [f"   * - {row.name}", f"     - {row.value}", "     - " + (", ".join(shown))]
    return "\n".join(out) + "\n"
