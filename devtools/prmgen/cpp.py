# SPDX-License-Identifier: BSD-3-Clause
"""The typed constexpr headers: one a layout file, one with all enumerations, one that includes them all."""

import os

HEAD = """// SPDX-License-Identifier: BSD-3-Clause
// Made by devtools/generate-prm from lib/prm/layouts/. Do not edit.
#pragma once

"""

KEYWORDS = set("""alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept
const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do double
dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace new
noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires return short
signed sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef typeid
typename union unsigned using virtual void volatile wchar_t while xor xor_eq""".split())
TAKEN = {"size", "name", "opcode_value", "op_mod_value", "register_value"}


def ident(name, owner=None):
    """A name as C++ may use it: keywords and names that are taken get an underscore."""
    clash = name in KEYWORDS or (owner is not None and (name in TAKEN or name == owner))
    return name + "_" if clash else name


def stem(file):
    return os.path.splitext(file)[0]


def brief(text, indent):
    return f"{indent}/// {text}\n" if text else ""


def note(text):
    return f"  ///< {text}" if text else ""


def enum_text(e):
    top = max(v.value for v in e.values)
    kind = "std::uint64_t" if top >> 32 else "std::uint32_t"
    out = brief(e.meaning, "")
    if e.flags:
        out += f"struct {ident(e.name)} {{\n  using type = {kind};\n"
        for v in e.values:
            out += f"  static constexpr {kind} {ident(v.name)} = {v.value:#x};{note(v.meaning)}\n"
        return out + "};\n"
    out += f"enum class {ident(e.name)} : {kind} {{\n"
    for v in e.values:
        out += f"  {ident(v.name)} = {v.value:#x},{note(v.meaning)}\n"
    return out + "};\n"


def value_type(f):
    if f.enum:
        return f"::chime::prm::{ident(f.enum)}"
    return "std::uint32_t" if f.width <= 32 else "std::uint64_t"


def field_text(s, f):
    owner, count = ident(s.name), f.count if f.array else 0
    nested = f"::chime::prm::{ident(f.type)}" if f.type else ""
    if f.type and f.array:
        kind = f"NestArray<{owner}, {f.bit // 8:#x}, {nested}, {count}>"
    elif f.type:
        kind = f"Nest<{owner}, {f.bit // 8:#x}, {nested}>"
    elif f.array:
        kind = f"FieldArray<{owner}, {f.bit}, {f.width}, {count}, {value_type(f)}, {f.stride}>"
    else:
        kind = f"Field<{owner}, {f.bit}, {f.width}, {value_type(f)}>"
    text = f.meaning
    if f.flags:
        text = (text + ": " if text else "") + f"bits of {f.flags}"
    return f"  static constexpr {kind} {ident(f.name, s.name)}{{}};{note(text)}\n"


def traits(model, s):
    out = ""
    mine = [c for c in model.commands.values() if c.input == s.name]
    for c in mine:
        if len(mine) == 1:  # not an input that several commands share
            out += f"  static constexpr cmd_opcode opcode_value = cmd_opcode::{ident(c.name)};\n"
            if c.op_mod is not None:
                out += f"  static constexpr std::uint32_t op_mod_value = {c.op_mod:#x};\n"
    for r in model.registers.values():
        if r.type == s.name:
            out += f"  static constexpr register_id register_value = register_id::{ident(r.name)};\n"
    return out


def struct_text(model, s):
    out = brief(s.meaning, "")
    out += f"struct {ident(s.name)} {{\n  static constexpr std::size_t size = {s.size:#x};\n"
    out += f'  static constexpr std::string_view name = "{s.name}";\n' + traits(model, s)
    for f in s.fields:
        out += field_text(s, f)
    return out + "};\n"


def command_text(c):
    out = brief(c.meaning, "")
    return out + (f"struct {ident(c.name)} {{\n  using in = {c.input};\n  using out = {c.output};\n"
                  f"  static constexpr cmd_opcode opcode = cmd_opcode::{ident(c.name)};\n}};\n")


def enums_header(model):
    out = HEAD + "#include <cstdint>\n\nnamespace chime::prm {\n"
    for e in model.enums.values():
        out += "\n" + enum_text(e)
    return out + "\n}  // namespace chime::prm\n"


def header(model, file, title):
    out = HEAD + f"/// @file\n/// {title}.\n\n#include <cstddef>\n#include <cstdint>\n#include <string_view>\n\n"
    out += '#include "prm/enums.h"\n#include "prm/view.h"\n'
    structs = [s for s in model.structs.values() if s.file == file]
    commands = [c for c in model.commands.values() if c.file == file]
    files = {model.structs[f.type].file for s in structs for f in s.fields if f.type} - {file}
    out += "".join(f'#include "prm/{stem(other)}.h"\n' for other in sorted(files))
    out += "\nnamespace chime::prm {\n\n"
    needed = sorted({f.type for s in structs for f in s.fields if f.type})
    out += "".join(f"struct {ident(name)};\n" for name in needed)
    for s in structs:
        out += "\n" + struct_text(model, s)
    for c in commands:
        out += "\n" + command_text(c)
    return out + "\n}  // namespace chime::prm\n"


def umbrella(model):
    out = HEAD + "/// @file\n/// Every layout of the manual that the project knows.\n\n"
    out += '#include "prm/enums.h"\n'
    return out + "".join(f'#include "prm/{stem(file)}.h"\n' for file, _, _ in model.files)
