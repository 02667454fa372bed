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
html_theme = "alabaster"
html_theme_options = {
    "description": "A DPDK driver for ConnectX adapters, with a software HCA",
    "page_width": "1100px",
    "sidebar_width": "260px",
}
html_show_sourcelink = False
html_copy_source = False
