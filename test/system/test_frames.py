# SPDX-License-Identifier: BSD-3-Clause
"""Frames through ports of the embedded HCA."""
from frames import *  # noqa: F401,F403
