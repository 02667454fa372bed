# SPDX-License-Identifier: BSD-3-Clause
"""What must hold across structs: types exist, nothing overlaps, nothing is past the end, paths lead somewhere."""

from .load import fail
from .model import Enum, Enumerator, Field, Place, Struct

REGISTER_ENUM = "register_id"
REGISTER_UNION = "access_register_data"


def find(model, where, struct, path, scope="self"):
    """The bits of a dotted path of fields in `struct`."""
    base = 0
    parts = path.split(".")
    for i, part in enumerate(parts):
        f = struct.field(part)
        if f is None:
            fail(where, f"'{path}': {struct.name} has no field '{part}'")
        if f.array or (f.type is None) != (i == len(parts) - 1):
            fail(where, f"'{path}' does not lead to one value")
        base += f.bit
        if f.type is None:
            return Place(scope, base, f.width), f
        struct = model.structs[f.type]
    raise AssertionError


def check_types(model, s):
    for f in s.fields:
        where = f"{s.file}: {s.name}.{f.name}"
        if f.type is not None and f.type not in model.structs:
            fail(where, f"unknown type '{f.type}'")
        for key, flags in ((f.enum, False), (f.flags, True)):
            if key is None:
                continue
            if key not in model.enums or model.enums[key].flags != flags:
                fail(where, f"unknown {'flags' if flags else 'enum'} '{key}'")
            top = max(e.value for e in model.enums[key].values)
            if top >> f.width:
                fail(where, f"value {top:#x} of {key} does not fit into {f.width} bits")


def check_places(model, s):
    if s.union:
        for f in s.fields:
            if not s.tail and model.structs[f.type].size > s.size:
                fail(f"{s.file}: {s.name}.{f.name}", f"member is longer than the union's {s.size:#x} bytes")
        return
    taken, tails = [], []
    names = set()
    for f in s.fields:
        where = f"{s.file}: {s.name}.{f.name}"
        if f.name in names:
            fail(where, "stands twice")
        names.add(f.name)
        size = model.size_of(f)
        each = f.stride if f.type is None else size
        end = f.bit + each * (f.count - 1 if f.array else 0) + size
        growing = f.tail or (f.type is not None and model.structs[f.type].tail)
        if growing:
            if f.bit != s.size * 8:
                fail(where, f"a tail begins at the end of its struct ({s.size:#x})")
            if not f.after and any(not f.excludes(t) for t in tails):
                fail(where, "is a second tail; it needs 'after', or 'when' that excludes the other")
            tails.append(f)
            continue
        if end > s.size * 8:
            fail(where, f"ends at byte {(end + 7) // 8:#x}, past the end of {s.name} ({s.size:#x})")
        for other, begin, stop in taken:
            if f.bit < stop and begin < end and not f.excludes(other):
                fail(where, f"overlaps {other.name}")
        taken.append((f, f.bit, end))


def check_paths(model, s, inputs):
    for f in s.fields:
        where = f"{s.file}: {s.name}.{f.name}"
        nested = model.structs.get(f.type)
        if f.length:
            f.counter, _ = find(model, where, s, f.length)
        if f.after and not (s.field(f.after) and s.field(f.after).tail):
            fail(where, f"'after' {f.after} is no tail of {s.name}")
        if f.when:
            place, _ = find(model, where, s, f.when[0])
            f.condition = (place, f.when[1], f.when[2])
        if f.by:
            if nested is None or not nested.union:
                fail(where, "'by' is for unions")
            if f.by.startswith("in."):
                if s.name not in inputs:
                    fail(where, f"{s.name} is no command's output")
                f.chooser, _ = find(model, where, model.structs[inputs[s.name]], f.by[3:], "in")
            else:
                f.chooser, _ = find(model, where, s, f.by)
            f.chooser.shift = f.shift
        elif nested is not None and nested.union and nested.chooser is None and len(nested.fields) > 1:
            fail(where, f"union {f.type} needs 'by'")


def check_cases(model, s):
    """'when' of each member becomes a list of values; None is the member for all other values."""
    seen = set()
    for f in s.fields:
        where = f"{s.file}: {s.name}.{f.name}"
        values = s.cases[f.name]
        values = values if isinstance(values, list) else [values]
        for i, value in enumerate(values):
            if isinstance(value, str):
                values[i] = model.enums[s.enum].value_of(value) if s.enum in model.enums else None
                if values[i] is None:
                    fail(where, f"'{value}' is no value of '{s.enum}'")
            if values[i] in seen:
                fail(where, "'when' stands twice")
            seen.add(values[i])
        s.cases[f.name] = values
    if s.enum is not None and s.enum not in model.enums:
        fail(f"{s.file}: {s.name}", f"unknown enum '{s.enum}'")


def add_registers(model):
    """The register list becomes an enumeration and the union that ACCESS_REG carries."""
    if not model.registers:
        return
    regs = sorted(model.registers.values(), key=lambda r: r.id)
    file = regs[0].file
    model.enums[REGISTER_ENUM] = Enum(REGISTER_ENUM, file, False,
                                      [Enumerator(r.name, r.id, r.meaning, source=r.source) for r in regs],
                                      "MLX5_REG_", "Registers of ACCESS_REG.")
    union = Struct(REGISTER_UNION, file, 0, [], union=True, tail=True, enum=REGISTER_ENUM,
                   meaning="The register that register_id names.", source="ours")
    for r in regs:
        union.fields.append(Field(name=r.type, type=r.type, meaning=r.meaning))
        union.cases[r.type] = r.id
        if r.type not in model.structs:
            fail(f"{r.file}: register {r.name}", f"unknown type '{r.type}'")
    model.structs[REGISTER_UNION] = union


def check(model):
    add_registers(model)
    opcodes = model.enums.get("cmd_opcode")
    inputs = {}
    for c in model.commands.values():
        where = f"{c.file}: command {c.name}"
        value = opcodes.value_of(c.name) if opcodes else None
        if value is None:
            fail(where, "is no value of enum cmd_opcode")
        c.opcode = value
        for name in (c.input, c.output):
            if name not in model.structs:
                fail(where, f"unknown struct '{name}'")
        if c.name in model.structs or c.name in model.enums:
            fail(where, "has the name of a struct or enum")
        inputs[c.output] = c.input
    for name in model.enums:
        if name in model.structs:
            fail(f"{model.enums[name].file}: {name}", "is both enum and struct")
    for s in model.structs.values():
        check_types(model, s)
    for s in model.structs.values():
        check_places(model, s)
        if s.union:
            check_cases(model, s)
        check_paths(model, s, inputs)
