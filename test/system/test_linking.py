# SPDX-License-Identifier: BSD-3-Clause
"""An application in C against what `meson install` puts into a folder: header, chime.pc, libraries."""
import os
import re
import subprocess

import pytest
from conftest import SOURCE

EAL = ["--no-pci", "--no-huge", "--no-shconf", "-m", "64", "-l", "0", "--no-telemetry", "--log-level=lib.eal:error"]


def run(command, **environment) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL,
                          env={**os.environ, **environment})
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(build, tmp_path_factory):
    """A folder with chime.pc for what lies below a DESTDIR, and the folder of the libraries there."""
    root = str(tmp_path_factory.mktemp("installed"))
    run(["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", root])
    found = [folder for folder, _, names in os.walk(root) if "chime.pc" in names]
    assert len(found) == 1, found
    with open(os.path.join(found[0], "chime.pc"), encoding="utf-8") as file:
        text = file.read()
    # The prefix of this one alone: libdpdk, which it requires, is where it always is.
    moved = tmp_path_factory.mktemp("pkgconfig")
    (moved / "chime.pc").write_text(re.sub("^prefix=", f"prefix={root}", text, flags=re.MULTILINE))
    return str(moved), os.path.dirname(found[0])


def pkg_config(installed, *arguments: str) -> list[str]:
    return run(["pkg-config", *arguments, "chime"], PKG_CONFIG_PATH=installed[0]).split()


def compiled(installed, tmp_path, name: str) -> str:
    program = str(tmp_path / name)
    source = os.path.join(SOURCE, "test", "system", "linking", name + ".c")
    run(["cc", "-Wall", "-Wextra", "-Werror", "-o", program, source, *pkg_config(installed, "--cflags", "--libs")])
    return program


def version(installed) -> str:
    return pkg_config(installed, "--modversion")[0]


def test_an_application_links_with_chime_pc(installed, tmp_path):
    program = compiled(installed, tmp_path, "version")
    assert run([program], LD_LIBRARY_PATH=installed[1]) == version(installed) + "\n"


def test_a_linked_application_has_the_driver_without_loading_it(installed, tmp_path):
    program = compiled(installed, tmp_path, "port")
    said = run([program, *EAL, "--vdev", "net_chime0"], LD_LIBRARY_PATH=installed[1])
    assert said.splitlines()[-1] == f"net_chime {version(installed)}", said


def test_one_lcore_forwards_packets_and_adds(installed, tmp_path):
    """Both at once, from one loop: no packet is lost, no addition lost or doubled."""
    program = compiled(installed, tmp_path, "forward_and_add")
    cable = [word for port in "01" for word in ("--vdev", f"net_chime{port},wire=cable:a")]
    said = run([program, *EAL, "--file-prefix", f"forward{os.getpid()}", *cable, "--", "200000", "20000"],
               LD_LIBRARY_PATH=installed[1])
    assert "256 of 256 came back; 20000 fetch-and-adds, 0 wrong, the word is 20000" in said, said


def test_the_plugin_is_a_file_in_the_driver_folder_with_links_beside_the_libraries(installed):
    libraries = installed[1]
    for name in ("librte_net_chime.so", "librte_net_chime.so.0", f"librte_net_chime.so.{version(installed)}"):
        link = os.path.join(libraries, name)
        assert os.path.islink(link), link
        assert os.path.exists(link), f"{link} leads nowhere"
        assert os.path.basename(os.path.dirname(os.path.realpath(link))).startswith("pmds-"), os.path.realpath(link)
