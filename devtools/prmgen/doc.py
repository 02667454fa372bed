# SPDX-License-Identifier: BSD-3-Clause
"""The layout chapter of the guide, in reStructuredText."""

from .cpp import stem

INTRO = """
The tables below are made from ``lib/prm/layouts``, as the typed headers and the text printer are. Offsets are
bytes from the start of a struct, bits those of the big-endian dword there (above 31: of two dwords). Bits that
no row names are reserved. "Tail" is an array that goes on as far as its count, or the buffer, does.
"""


def heading(text, line):
    return f"\n{text}\n{line * len(text)}\n"


def table(columns, widths, rows):
    out = f"\n.. list-table::\n   :header-rows: 1\n   :widths: {widths}\n\n"
    for row in [columns, *rows]:
        out += "".join(f"   {'* -' if i == 0 else '  -'} {cell}".rstrip() + "\n" for i, cell in enumerate(row))
    return out


def place(f):
    at = f.bit // 32 * 4
    if f.type:
        return f"``{f.bit // 8:#04x}``", ""
    window = 32 if f.bit - at * 8 + f.width <= 32 else 64
    hi = window - 1 - (f.bit - at * 8)
    lo = hi - f.width + 1
    return f"``{at:#04x}``", f"{hi}:{lo}" if hi != lo else str(hi)


def remarks(f):
    parts = [f.meaning] if f.meaning else []
    if f.type:
        parts.append(f"see :ref:`{f.type} <prm-{f.type}>`")
    if f.enum or f.flags:
        parts.append(f"values: :ref:`{f.enum or f.flags} <prm-{f.enum or f.flags}>`")
    if f.tail:
        parts.append(f"tail, counted by ``{f.length}``" if f.length else "tail")
    elif f.array:
        parts.append(f"{f.count} of them")
    if f.after:
        parts.append(f"after ``{f.after}``")
    if f.when:
        parts.append(f"if ``{f.when[0]} {'=' if f.when[2] else '!='} {f.when[1]}``")
    if f.by:
        parts.append(f"member chosen by ``{f.by}``" + (f" >> {f.shift}" if f.shift else ""))
    if f.source:
        parts.append(f"source: {f.source}")
    return "; ".join(parts)


def enum_text(e):
    out = f"\n.. _prm-{e.name}:\n" + heading(e.name + (" (flags)" if e.flags else ""), "-")
    if e.meaning:
        out += f"\n{e.meaning}\n"
    return out + table(["value", "name", "meaning"], "1 2 4",
                       [[f"``{v.value:#x}``", f"``{v.name}``", v.meaning] for v in e.values])


def struct_text(model, s):
    out = f"\n.. _prm-{s.name}:\n" + heading(s.name, "-")
    if s.meaning:
        out += f"\n{s.meaning}\n"
    for c in model.commands.values():
        if s.name in (c.input, c.output):
            out += f"\n{'Input' if s.name == c.input else 'Output'} of ``{c.name.upper()}`` (``{c.opcode:#x}``).\n"
    for r in model.registers.values():
        if s.name == r.type:
            out += f"\nRegister ``{r.name.upper()}`` (``{r.id:#x}``), {r.state}.\n"
    if s.source:
        out += f"\nSource: {s.source}.\n"
    if s.union:
        rows = []
        for f in s.fields:
            values = ["any other" if v is None else f"``{v:#x}``" for v in s.cases[f.name]]
            rows.append([", ".join(values), f":ref:`{f.name} <prm-{f.type}>`", f.meaning])
        return out + table(["chosen by", "member", "meaning"], "2 3 3", rows)
    out += f"\n{s.size:#x} bytes.\n"
    rows = [[*place(f), f"``{f.name}``", f.access or "", remarks(f)] for f in sorted(s.fields, key=lambda f: f.bit)]
    return out + (table(["offset", "bits", "field", "access", "meaning"], "1 1 3 1 6", rows) if rows else "")


def page(title, line, text):
    return (".. SPDX-License-Identifier: BSD-3-Clause\n.. Made by devtools/generate-prm. Do not edit.\n" +
            heading(title, line) + text)


def chapter(model):
    """The pages of the chapter by file name: an overview, and one page for each file of layouts."""
    pages = {}
    toctree = "\n.. toctree::\n   :maxdepth: 1\n\n"
    for file, title, text in model.files:
        name = f"layouts-{stem(file)}"
        toctree += f"   {name}\n"
        body = f"\n{text}\n" if text else ""
        body += "".join(enum_text(e) for e in model.enums.values() if e.file == file)
        body += "".join(struct_text(model, s) for s in model.structs.values() if s.file == file)
        pages[name + ".rst"] = page(title, "=", body)
    pages["layouts.rst"] = page("Layouts", "=", INTRO + toctree)
    return pages
