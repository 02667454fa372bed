# SPDX-License-Identifier: BSD-3-Clause
"""A port of the embedded HCA whose wire is looped."""
from loop import *  # noqa: F401,F403
