# SPDX-License-Identifier: BSD-3-Clause
"""Reads layouts/*.toml. Whatever is not understood is an error, never ignored."""

import os
import re
import tomllib

from .model import Command, Enum, Enumerator, Field, LayoutError, Model, Register, Struct

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
FIELD_KEYS = {"name", "at", "bits", "type", "count", "stride", "after", "enum", "flags", "access", "meaning",
              "split", "zero", "whole", "by", "shift", "when", "kernel", "source"}
ACCESS = {"ro", "rw", "wo", "w1c", "index", "op", "other"}


def fail(where, text):
    raise LayoutError(f"{where}: {text}")


def check_keys(where, table, allowed, required=()):
    if not isinstance(table, dict):
        fail(where, "must be a table")
    for key in table:
        if key not in allowed:
            fail(where, f"unknown key '{key}'; known are {', '.join(sorted(allowed))}")
    for key in required:
        if key not in table:
            fail(where, f"lacks '{key}'")


def check_name(where, name):
    if not isinstance(name, str) or not NAME.match(name):
        fail(where, f"'{name}' is not a name (letters, digits, underscores)")


def number(where, key, value, low=0):
    if not isinstance(value, int) or isinstance(value, bool) or value < low:
        fail(where, f"'{key}' must be a whole number from {low} on")
    return value


def bits_of(where, at, bits):
    """The manual's "hi:lo" within the dword (or, above 31, the two dwords) at byte `at`."""
    m = re.match(r"(\d+)(?::(\d+))?\Z", bits) if isinstance(bits, str) else None
    if not m:
        fail(where, "'bits' must be \"hi:lo\" or \"bit\"")
    hi = int(m.group(1))
    lo = int(m.group(2)) if m.group(2) is not None else hi
    if lo > hi or hi > 63:
        fail(where, f"'bits' {bits} is not within 63:0")
    if at % 4:
        fail(where, f"'at' {at:#x} is not a dword's offset")
    window = 32 if hi < 32 else 64
    return at * 8 + window - 1 - hi, hi - lo + 1


def load_field(where, table):
    check_keys(where, table, FIELD_KEYS, ("name", "at"))
    check_name(where, table["name"])
    at = number(where, "at", table["at"])
    f = Field(name=table["name"])
    if ("bits" in table) == ("type" in table):
        fail(where, "needs either 'bits' or 'type'")
    if "bits" in table:
        f.bit, f.width = bits_of(where, at, table["bits"])
    else:
        f.bit, f.type = at * 8, table["type"]
    if "count" in table:
        f.array = True
        count = table["count"]
        if count == "*":
            f.count = 0
        elif isinstance(count, str):
            f.count, f.length = 0, count
        else:
            f.count = number(where, "count", count, 1)
    f.stride = number(where, "stride", table.get("stride", f.width))
    if "stride" in table and (f.type or not f.array or f.stride < f.width):
        fail(where, "'stride' is for arrays of bits, and at least their width")
    if "split" in table:
        f.split = tuple(table["split"])
        if len(f.split) != 2 or f.width <= 32:
            fail(where, "'split' is two suffixes of a field above 32 bits")
    if "when" in table:
        m = re.match(r"([\w.]+) *(!?=) *(0x[0-9a-f]+|[0-9]+)\Z", str(table["when"]))
        if not m:
            fail(where, "'when' must be \"field = value\" or \"field != value\"")
        f.when = (m.group(1), int(m.group(3), 0), m.group(2) == "=")
    for key in ("after", "enum", "flags", "access", "meaning", "by", "kernel", "source"):
        if key in table:
            if not isinstance(table[key], str):
                fail(where, f"'{key}' must be text")
            setattr(f, key, table[key])
    if f.access is not None and f.access not in ACCESS:
        fail(where, f"access '{f.access}' is none of {', '.join(sorted(ACCESS))}")
    if f.enum and f.flags:
        fail(where, "has both 'enum' and 'flags'")
    if f.type and (f.enum or f.flags):
        fail(where, "a nested struct has no enumerators")
    f.zero = number(where, "zero", table.get("zero", 0))
    f.shift = number(where, "shift", table.get("shift", 0))
    f.whole = bool(table.get("whole", False))
    return f


def load_struct(file, name, table):
    where = f"{file}: {name}"
    check_name(where, name)
    check_keys(where, table, {"size", "fields", "meaning", "kernel", "source"}, ("size", "fields"))
    s = Struct(name, file, number(where, "size", table["size"]), [], meaning=table.get("meaning", ""),
               kernel=table.get("kernel"), source=table.get("source"))
    for row in table["fields"]:
        label = row.get("name", "?") if isinstance(row, dict) else "?"
        s.fields.append(load_field(f"{where}.{label}", row))
    return s


def load_union(file, name, table):
    where = f"{file}: {name}"
    check_name(where, name)
    check_keys(where, table, {"size", "members", "meaning", "enum", "tail", "at", "bits", "kernel", "source"},
               ("size", "members"))
    s = Struct(name, file, number(where, "size", table["size"]), [], union=True, meaning=table.get("meaning", ""),
               tail=bool(table.get("tail", False)), enum=table.get("enum"), kernel=table.get("kernel"),
               source=table.get("source"))
    if ("at" in table) != ("bits" in table):
        fail(where, "a union that chooses by its own bits needs 'at' and 'bits'")
    if "at" in table:
        from .model import Place
        s.chooser = Place("self", *bits_of(where, number(where, "at", table["at"]), table["bits"]))
    for row in table["members"]:
        label = f"{where}.{row.get('name', '?') if isinstance(row, dict) else '?'}"
        check_keys(label, row, {"name", "type", "when", "meaning", "kernel", "source"}, ("name", "type"))
        check_name(label, row["name"])
        s.fields.append(Field(name=row["name"], type=row["type"], meaning=row.get("meaning", ""),
                              kernel=row.get("kernel"), source=row.get("source")))
        s.cases[row["name"]] = row.get("when")
    return s


def load_enum(file, name, table, flags):
    where = f"{file}: {name}"
    check_name(where, name)
    check_keys(where, table, {"kernel", "values", "meaning"}, ("values",))
    e = Enum(name, file, flags, [], table.get("kernel"), table.get("meaning", ""))
    names, values = set(), set()
    for row in table["values"]:
        label = f"{where}.{row.get('name', '?') if isinstance(row, dict) else '?'}"
        check_keys(label, row, {"name", "value", "meaning", "kernel", "source"}, ("name", "value"))
        check_name(label, row["name"])
        value = number(label, "value", row["value"])
        if row["name"] in names or value in values:
            fail(label, "name or value stands twice")
        names.add(row["name"])
        values.add(value)
        e.values.append(Enumerator(row["name"], value, row.get("meaning", ""), row.get("kernel"), row.get("source")))
    if not e.values:
        fail(where, "has no values")
    return e


def load_file(model, path):
    file = os.path.basename(path)
    try:
        with open(path, "rb") as stream:
            top = tomllib.load(stream)
    except tomllib.TOMLDecodeError as error:
        fail(file, f"not TOML: {error}")
    check_keys(file, top, {"title", "text", "enum", "flags", "struct", "union", "command", "register"}, ("title",))
    model.files.append((file, top["title"], top.get("text", "")))

    def add(kind, name, item):
        if name in kind:
            fail(f"{file}: {name}", f"stands in {kind[name].file} too")
        kind[name] = item

    for name, table in top.get("enum", {}).items():
        add(model.enums, name, load_enum(file, name, table, False))
    for name, table in top.get("flags", {}).items():
        add(model.enums, name, load_enum(file, name, table, True))
    for name, table in top.get("struct", {}).items():
        add(model.structs, name, load_struct(file, name, table))
    for name, table in top.get("union", {}).items():
        add(model.structs, name, load_union(file, name, table))
    for name, table in top.get("command", {}).items():
        where = f"{file}: command {name}"
        check_keys(where, table, {"in", "out", "op_mod", "meaning"})
        add(model.commands, name, Command(name, file, 0, table.get("in", name + "_in"), table.get("out", name + "_out"),
                                          table.get("op_mod"), table.get("meaning", "")))
    for name, table in top.get("register", {}).items():
        where = f"{file}: register {name}"
        check_keys(where, table, {"id", "type", "state", "meaning", "source"}, ("id", "state"))
        if table["state"] not in ("static", "dynamic"):
            fail(where, "'state' must be static or dynamic")
        add(model.registers, name, Register(name, file, number(where, "id", table["id"]),
                                            table.get("type", name + "_reg"), table["state"],
                                            table.get("meaning", ""), table.get("source")))


def load(paths):
    from .check import check
    model = Model()
    for path in paths:
        load_file(model, path)
    check(model)
    return model
