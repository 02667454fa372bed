# SPDX-License-Identifier: BSD-3-Clause
"""The layouts of the manual as objects."""

from dataclasses import dataclass, field
from typing import Optional


class LayoutError(Exception):
    """A mistake in a layout file: names file, struct and field."""


@dataclass
class Enumerator:
    name: str
    value: int
    meaning: str = ""
    kernel: Optional[str] = None  # name in the kernel header, if not prefix + NAME
    source: Optional[str] = None  # where the value is from, if the kernel header lacks it


@dataclass
class Enum:
    """An enumeration, or (flags) a set of bits that a field may hold several of."""

    name: str
    file: str
    flags: bool
    values: list
    kernel: Optional[str] = None  # prefix of the kernel's names
    meaning: str = ""

    def value_of(self, name):
        return next((e.value for e in self.values if e.name == name), None)


@dataclass
class Place:
    """Bits that decide something: which variant, how many elements."""

    scope: str  # "self", or "in": the input of the command whose output this is
    bit: int
    width: int
    shift: int = 0


@dataclass
class Field:
    name: str
    bit: int = 0
    width: int = 0  # of one element; 0 for a nested struct
    type: Optional[str] = None
    count: int = 1  # 0: a tail, as many as the buffer holds
    array: bool = False
    stride: int = 0  # bits
    length: Optional[str] = None  # path of the field that counts a tail
    after: Optional[str] = None  # the tail that this tail follows
    enum: Optional[str] = None
    flags: Optional[str] = None
    access: Optional[str] = None
    meaning: str = ""
    split: Optional[tuple] = None  # suffixes of the halves that the kernel header has
    zero: int = 0  # low bits that have to be zero
    whole: bool = False  # the kernel header has one wide field where this is an array
    by: Optional[str] = None  # path of the field that chooses the union's member
    shift: int = 0
    when: Optional[tuple] = None  # (path, value, equal): the field exists only then
    kernel: Optional[str] = None
    source: Optional[str] = None
    # Found by the checks:
    chooser: Optional[Place] = None
    condition: Optional[tuple] = None  # (Place, value, equal)
    counter: Optional[Place] = None

    @property
    def tail(self):
        return self.array and self.count == 0

    def excludes(self, other):
        """Whether the two fields can't both be there."""
        if not self.when or not other.when or self.when[0] != other.when[0]:
            return False
        same_value = self.when[1] == other.when[1]
        if self.when[2] and other.when[2]:
            return not same_value
        return same_value and self.when[2] != other.when[2]


@dataclass
class Struct:
    name: str
    file: str
    size: int
    fields: list
    union: bool = False
    meaning: str = ""
    tail: bool = False  # a union whose members have sizes of their own
    enum: Optional[str] = None  # what the values of a union's chooser mean
    chooser: Optional[Place] = None  # of a union that chooses by bits of its own
    cases: dict = field(default_factory=dict)  # member name -> values (None: when no other is chosen)
    kernel: Optional[str] = None
    source: Optional[str] = None

    def field(self, name):
        return next((f for f in self.fields if f.name == name), None)


@dataclass
class Command:
    name: str
    file: str
    opcode: int
    input: str
    output: str
    op_mod: Optional[int] = None
    meaning: str = ""


@dataclass
class Register:
    name: str
    file: str
    id: int
    type: str
    state: str  # "static" or "dynamic"
    meaning: str = ""
    source: Optional[str] = None


@dataclass
class Model:
    files: list = field(default_factory=list)
    enums: dict = field(default_factory=dict)
    structs: dict = field(default_factory=dict)
    commands: dict = field(default_factory=dict)
    registers: dict = field(default_factory=dict)

    def size_of(self, f):
        """Bits of one element of a field."""
        return f.width if f.type is None else self.structs[f.type].size * 8
