# SPDX-License-Identifier: BSD-3-Clause
"""Sphinx settings; doc/build.py runs Sphinx on a copy of this folder with what is generated beside it."""
import os

project = "Chime"
author = "the Chime authors"
project_copyright = "the Chime authors, BSD-3-Clause"
version = release = os.environ.get("CHIME_VERSION", "")

extensions = ["breathe"]
breathe_projects = {"chime": os.environ.get("CHIME_DOXYGEN_XML", "")}
breathe_default_project = "chime"
breathe_domain_by_extension = {"h": "c", "hpp": "cpp"}

# Blocks are command lines, outputs and diagrams; none is a program to colour.
highlight_language = "text"
nitpicky = True
# Types of the C library, opaque handles, and C structures that C++ signatures name.
nitpick_ignore_regex = [
    ("c:identifier", r"u?int(\d+|ptr)_t|size_t|rte_mempool|rte_pmd_chime_(mem|qp|worker)|rte_pmd_chime_op\.@0|RTE_PMD_CHIME_OPCODES"),
    ("cpp:identifier", r"u?int(\d+|ptr)_t|size_t|rte_pmd_chime_\w+|rte_mempool"),
]
html_theme = "alabaster"
html_theme_options = {
    "description": "A DPDK driver for ConnectX adapters, with a software HCA",
    "page_width": "1100px",
    "sidebar_width": "260px",
}
html_show_sourcelink = False
html_copy_source = False
