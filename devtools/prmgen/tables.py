# SPDX-License-Identifier: BSD-3-Clause
"""The run-time tables (lib/prm/tables.h) as C++ source."""

HEAD = """// SPDX-License-Identifier: BSD-3-Clause
// Made by devtools/generate-prm from lib/prm/layouts/. Do not edit.
#include "prm/tables.h"

namespace chime::prm {

namespace {

"""

TAIL = """}  // namespace

std::span<const EnumInfo> enums() noexcept { return enum_table; }
std::span<const StructInfo> structs() noexcept { return struct_table; }
std::span<const CommandInfo> commands() noexcept { return command_table; }
std::span<const RegisterInfo> registers() noexcept { return register_table; }

}  // namespace chime::prm
"""


def text(value):
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def place(p):
    if p is None:
        return "{PlaceInfo::Scope::none, 0, 0, 0}"
    scope = {"self": "self", "in": "input"}[p.scope]
    return f"{{PlaceInfo::Scope::{scope}, {p.width}, {p.shift}, {p.bit}}}"


def array(kind, name, rows):
    return f"constexpr {kind} {name}[] = {{\n" + "".join(f"    {row},\n" for row in rows) + "};\n\n"


def in_order(s):
    """A union's members stand as written; a struct's fields in the order of their bits, tails last."""
    return s.fields if s.union else sorted(s.fields, key=lambda f: (f.bit, f.tail))


def field_row(f, enums, structs):
    kind = f.enum or f.flags
    condition, value, equal = f.condition or (None, 0, True)
    return "{" + ", ".join([
        text(f.name), text(f.meaning), str(f.bit), str(f.width), "true" if f.array else "false",
        str(f.count), str(f.stride), f"&struct_table[{structs[f.type]}]" if f.type else "nullptr",
        f"&enum_table[{enums[kind]}]" if kind else "nullptr", place(f.chooser), place(f.counter), place(condition),
        str(value), "true" if equal else "false", text(f.after) if f.after else "nullptr", text(f.access or "")]) + "}"


def tables(model):
    enums = {name: i for i, name in enumerate(sorted(model.enums))}
    structs = {name: i for i, name in enumerate(sorted(model.structs))}
    out = HEAD
    for name in enums:
        e = model.enums[name]
        out += array("EnumeratorInfo", f"values_of_{name}",
                     [f"{{{v.value:#x}, {text(v.name)}, {text(v.meaning)}}}" for v in e.values])
    out += array("EnumInfo", "enum_table",
                 [f"{{{text(n)}, {text(model.enums[n].meaning)}, {'true' if model.enums[n].flags else 'false'}, "
                  f"values_of_{n}}}" for n in enums])
    out += f"extern const StructInfo struct_table[{len(structs)}];\n\n"
    for name in structs:
        s = model.structs[name]
        if s.fields:
            out += array("FieldInfo", f"fields_of_{name}", [field_row(f, enums, structs) for f in in_order(s)])
        cases = [(v, i) for i, f in enumerate(s.fields) for v in s.cases.get(f.name, []) if v is not None]
        if cases:
            out += array("CaseInfo", f"cases_of_{name}", [f"{{{v:#x}, {i}}}" for v, i in cases])
    rows = []
    for name in structs:
        s = model.structs[name]
        other = next((str(i) for i, f in enumerate(s.fields) if None in s.cases.get(f.name, [])),
                     "StructInfo::no_member")
        cases = any(v is not None for f in s.fields for v in s.cases.get(f.name, []))
        rows.append(f"{{{text(name)}, {text(s.meaning)}, {s.size:#x}, {'true' if s.union else 'false'}, "
                    f"{place(s.chooser)}, {other}, {f'&enum_table[{enums[s.enum]}]' if s.enum else 'nullptr'}, "
                    + (f"fields_of_{name}, " if s.fields else "{}, ") + (f"cases_of_{name}" if cases else "{}") + "}")
    out += f"constinit const StructInfo struct_table[{len(rows)}] = {{\n"
    out += "".join(f"    {row},\n" for row in rows) + "};\n\n"
    out += array("CommandInfo", "command_table",
                 [f"{{{c.opcode:#x}, {text(c.name)}, {text(c.meaning)}, &struct_table[{structs[c.input]}], "
                  f"&struct_table[{structs[c.output]}]}}"
                  for c in sorted(model.commands.values(), key=lambda c: c.opcode)])
    out += array("RegisterInfo", "register_table",
                 [f"{{{r.id:#x}, {text(r.name)}, {text(r.meaning)}, &struct_table[{structs[r.type]}], "
                  f"{'true' if r.state == 'dynamic' else 'false'}}}"
                  for r in sorted(model.registers.values(), key=lambda r: r.id)])
    return out + TAIL
