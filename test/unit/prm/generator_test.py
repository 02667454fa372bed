#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The generator: what it makes of small layouts, and that every mistake is an error that names its place."""

import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "..")
GENERATOR = os.path.join(ROOT, "devtools", "generate-prm")
sys.path.insert(0, os.path.dirname(GENERATOR))
sys.dont_write_bytecode = True

from prmgen import cpp, tables  # noqa: E402
from prmgen.load import load  # noqa: E402
from prmgen.model import LayoutError  # noqa: E402

OPCODES = """
title = "t"
[enum.cmd_opcode]
values = [{ name = "create_thing", value = 0x400 }]
"""


def struct(fields, size="0x10", head='title = "t"\n', name="thing"):
    return f"{head}\n[struct.{name}]\nsize = {size}\nfields = [\n{fields}\n]\n"


class Generator(unittest.TestCase):
    def generate(self, *texts):
        """What the generator makes of some layout files: the headers by name, or the error."""
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for i, text in enumerate(texts):
                paths.append(os.path.join(folder, f"file{i}.toml"))
                with open(paths[-1], "w", encoding="utf-8") as stream:
                    stream.write(text)
            try:
                model = load(paths)
            except LayoutError as error:
                return str(error)
            result = {cpp.stem(file) + ".h": cpp.header(model, file, title) for file, title, _ in model.files}
            return result | {"enums.h": cpp.enums_header(model), "tables.cpp": tables.tables(model)}

    def refused(self, text, *words):
        error = self.generate(text) if isinstance(text, str) else self.generate(*text)
        self.assertIsInstance(error, str, "was accepted")
        for word in ("file0.toml", *words):
            self.assertIn(word, error)

    def header(self, *texts):
        result = self.generate(*texts)
        self.assertIsInstance(result, dict, result)
        return result["file0.h"]

    def test_bits_are_counted_as_the_manual_prints_them(self):
        text = self.header(struct("""
            { name = "top", at = 0x00, bits = "31:24" },
            { name = "last", at = 0x0c, bits = "0" },
            { name = "long", at = 0x04, bits = "63:0" },"""))
        self.assertIn("Field<thing, 0, 8, std::uint32_t> top{}", text)
        self.assertIn("Field<thing, 127, 1, std::uint32_t> last{}", text)
        self.assertIn("Field<thing, 32, 64, std::uint64_t> long_{}", text)

    def test_arrays_and_tails(self):
        text = self.header(struct("""
            { name = "n", at = 0x00, bits = "7:0" },
            { name = "octets", at = 0x04, bits = "31:24", count = 4 },
            { name = "spread", at = 0x08, bits = "15:0", count = 2, stride = 32 },
            { name = "pas", at = 0x10, bits = "63:0", count = "n" },"""))
        self.assertIn("FieldArray<thing, 32, 8, 4, std::uint32_t, 8> octets{}", text)
        self.assertIn("FieldArray<thing, 80, 16, 2, std::uint32_t, 32> spread{}", text)
        self.assertIn("FieldArray<thing, 128, 64, 0, std::uint64_t, 64> pas{}", text)

    def test_commands_know_their_opcode(self):
        fields = '{ name = "opcode", at = 0x00, bits = "31:16", enum = "cmd_opcode" },'
        text = self.header(struct(fields, head=OPCODES, name="create_thing_in") + struct("", head="", name="create_thing_out")
                           + "[command.create_thing]\n")
        self.assertIn("Field<create_thing_in, 0, 16, ::chime::prm::cmd_opcode> opcode{}", text)
        self.assertIn("opcode_value = cmd_opcode::create_thing;", text)
        self.assertIn("using out = create_thing_out;", text)

    def test_structs_of_other_files_are_included(self):
        text = self.header(struct('{ name = "inner", at = 0x0, type = "other" },'), struct("", name="other"))
        self.assertIn('#include "prm/file1.h"', text)

    def test_overlap(self):
        self.refused(struct('{ name = "a", at = 0x0, bits = "15:8" },\n{ name = "b", at = 0x0, bits = "8:0" },'),
                     "thing.b", "overlaps a")

    def test_past_the_end(self):
        self.refused(struct('{ name = "a", at = 0x10, bits = "0" },'), "thing.a", "past the end")
        self.refused(struct('{ name = "a", at = 0x8, bits = "31:0", count = 3 },'), "thing.a", "past the end")

    def test_unknown_things(self):
        self.refused(struct('{ name = "a", at = 0x0, type = "nothing" },'), "thing.a", "unknown type 'nothing'")
        self.refused(struct('{ name = "a", at = 0x0, bits = "0", enum = "nothing" },'), "thing.a", "'nothing'")
        self.refused(struct('{ name = "a", at = 0x0, bits = "0", colour = "red" },'), "thing.a", "unknown key 'colour'")
        self.refused(struct("") + "colour = 1\n", "thing", "unknown key 'colour'")
        self.refused('title = "t"\n[stuct.thing]\nsize = 4\nfields = []\n', "unknown key 'stuct'")

    def test_malformed_fields(self):
        self.refused(struct('{ at = 0x0, bits = "0" },'), "lacks 'name'")
        self.refused(struct('{ name = "a", bits = "0" },'), "thing.a", "lacks 'at'")
        self.refused(struct('{ name = "a", at = 0x0 },'), "thing.a", "needs either 'bits' or 'type'")
        self.refused(struct('{ name = "a", at = 0x2, bits = "0" },'), "thing.a", "not a dword's offset")
        self.refused(struct('{ name = "a", at = 0x0, bits = "0:1" },'), "thing.a", "63:0")
        self.refused(struct('{ name = "a", at = 0x0, bits = "64" },'), "thing.a", "63:0")
        self.refused(struct('{ name = "a", at = 0x0, bits = "0", access = "maybe" },'), "thing.a", "'maybe'")
        self.refused(struct('{ name = "a b", at = 0x0, bits = "0" },'), "is not a name")
        self.refused(struct('{ name = "a", at = 0x0, bits = "0", count = 0 },'), "thing.a", "'count'")
        self.refused("title = \n", "not TOML")

    def test_names_stand_once(self):
        self.refused(struct('{ name = "a", at = 0x0, bits = "0" },\n{ name = "a", at = 0x4, bits = "0" },'), "thing.a", "twice")
        error = self.generate(struct(""), struct(""))
        self.assertIn("file1.toml: thing: stands in file0.toml too", error)

    def test_values_fit_their_fields(self):
        text = struct('{ name = "a", at = 0x0, bits = "1:0", enum = "e" },')
        self.refused(text + '[enum.e]\nvalues = [{ name = "big", value = 4 }]\n', "thing.a", "does not fit into 2 bits")

    def test_paths_lead_somewhere(self):
        self.refused(struct('{ name = "pas", at = 0x10, bits = "63:0", count = "n" },'), "thing.pas", "no field 'n'")
        self.refused(struct('{ name = "pas", at = 0x8, bits = "63:0", count = "*" },'), "thing.pas", "at the end")
        self.refused(struct('{ name = "a", at = 0x0, bits = "0", when = "b = 1" },'), "thing.a", "no field 'b'")
        self.refused(struct('{ name = "a", at = 0x0, bits = "0", when = "often" },'), "thing.a", "'when'")

    def test_tails_exclude_each_other(self):
        two = '{ name = "p", at = 0x10, bits = "63:0", count = "*" },\n{ name = "q", at = 0x10, bits = "31:0", count = "*" },'
        self.refused(struct(two), "thing.q", "second tail")

    def test_unions(self):
        union = '[union.u]\nsize = 4\nmembers = [{ name = "m", type = "x", when = 1 }, { name = "n", type = "x", when = 1 }]\n'
        small = struct("", size="4", head="", name="x")
        self.refused('title = "t"\n' + union + small, "u.n", "twice")
        other = union.replace('type = "x", when = 1 }]', 'type = "x", when = "two" }]')
        self.refused('title = "t"\n' + other + small, "u.n", "'two'")
        fine = union.replace("when = 1 }]", "when = 2 }]")
        self.refused(struct('{ name = "a", at = 0x0, type = "u" },') + fine + small, "thing.a", "needs 'by'")
        self.refused('title = "t"\n' + fine + struct("", size="8", head="", name="x"), "u.m", "longer than the union")
        text = self.header(struct('{ name = "k", at = 0x4, bits = "7:0" },\n{ name = "a", at = 0x0, type = "u", by = "k" },')
                           + fine + small)
        self.assertIn("Nest<thing, 0x0, ::chime::prm::u> a{}", text)

    def test_commands_have_opcodes_and_structs(self):
        self.refused('title = "t"\n[command.create_thing]\n', "create_thing", "is no value of enum cmd_opcode")
        self.refused(OPCODES + "[command.create_thing]\n", "create_thing", "unknown struct 'create_thing_in'")

    def test_the_program_exits_with_the_error(self):
        with tempfile.NamedTemporaryFile("w", suffix=".toml", encoding="utf-8") as stream:
            stream.write(struct('{ name = "a", at = 0x10, bits = "0" },'))
            stream.flush()
            run = subprocess.run([sys.executable, GENERATOR, stream.name], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("past the end", run.stderr)
        self.assertNotIn("Traceback", run.stderr)

    def test_output_is_the_same_every_time(self):
        layouts = [os.path.join(ROOT, "lib", "prm", "layouts", name)
                   for name in sorted(os.listdir(os.path.join(ROOT, "lib", "prm", "layouts")))]
        texts = []
        for path in layouts:
            with open(path, encoding="utf-8") as stream:
                texts.append(stream.read())
        self.assertEqual(self.generate(*texts), self.generate(*texts))


if __name__ == "__main__":
    unittest.main()
