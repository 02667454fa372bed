# SPDX-License-Identifier: BSD-3-Clause
"""Builds the HTML of the guide: Doxygen reads the public headers, Sphinx the pages. A warning of either is an error.

What is generated (layouts, the feature table) lies beside the pages in a copy of doc/ below the build folder, so that
nothing is written into the sources.
"""
import argparse
import filecmp
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(ROOT, "devtools"))
sys.dont_write_bytecode = True

from docs.features import page  # noqa: E402

DOXYFILE = """
PROJECT_NAME = Chime
INPUT = {headers}
FILE_PATTERNS = *.h *.hpp
OUTPUT_DIRECTORY = {out}
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
OPTIMIZE_OUTPUT_FOR_C = YES
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = __rte_experimental= __rte_internal=
JAVADOC_AUTOBRIEF = YES
QUIET = YES
WARN_AS_ERROR = FAIL_ON_WARNINGS
"""


def put(path: str, text: str):
    """Writes a file if its content changes: Sphinx reads again what is newer."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def copy_pages(to: str, generated: set[str]):
    """Makes `to` a copy of this folder, apart from what is generated there."""
    wanted = set(generated)
    for folder, _, names in os.walk(HERE):
        for name in names:
            if not name.endswith((".rst", ".svg", ".png", ".txt", "conf.py")):
                continue
            relative = os.path.relpath(os.path.join(folder, name), HERE)
            wanted.add(relative)
            target = os.path.join(to, relative)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if not os.path.exists(target) or not filecmp.cmp(os.path.join(HERE, relative), target, shallow=False):
                shutil.copy(os.path.join(HERE, relative), target)
    for folder, _, names in os.walk(to):
        for name in names:
            if os.path.relpath(os.path.join(folder, name), to) not in wanted:
                os.unlink(os.path.join(folder, name))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", default="", help="of the project")
    parser.add_argument("--layouts", required=True, nargs="+", metavar="FILE.rst", help="made by devtools/generate-prm --doc")
    parser.add_argument("--work", required=True, metavar="DIR", help="for intermediate files")
    parser.add_argument("--html", required=True, metavar="DIR", help="the result")
    args = parser.parse_args()
    work = os.path.abspath(args.work)

    source = os.path.join(work, "source")
    generated = {os.path.join("guide", "features.rst"): page(os.path.join(HERE, "guide", "features", "chime.ini"))}
    for layouts in args.layouts:
        with open(layouts, encoding="utf-8") as file:
            generated[os.path.join("prm", os.path.basename(layouts))] = file.read()
    copy_pages(source, set(generated))
    for name, text in generated.items():
        put(os.path.join(source, name), text)

    doxygen = os.path.join(work, "doxygen")
    put(os.path.join(work, "Doxyfile"),
        DOXYFILE.format(headers=os.path.join(ROOT, "drivers", "net", "chime", "include"), out=doxygen))
    os.makedirs(doxygen, exist_ok=True)
    commands = [["doxygen", os.path.join(work, "Doxyfile")],
                ["sphinx-build", "-b", "html", "-q", "-W", "--keep-going", "-d", os.path.join(work, "doctrees"), source,
                 os.path.abspath(args.html)]]
    environment = {**os.environ, "CHIME_VERSION": args.version, "CHIME_DOXYGEN_XML": os.path.join(doxygen, "xml")}
    for command in commands:
        if subprocess.run(command, check=False, env=environment).returncode != 0:
            sys.exit(f"doc/build.py: {command[0]} failed, or warned, which counts alike")


if __name__ == "__main__":
    main()
