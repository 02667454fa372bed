# SPDX-License-Identifier: BSD-3-Clause
"""Receive interrupts of the embedded HCA."""
from interrupts import *  # noqa: F401,F403
