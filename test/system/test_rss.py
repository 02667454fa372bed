# SPDX-License-Identifier: BSD-3-Clause
"""Queues that packets of the embedded HCA come to."""
from rss import *  # noqa: F401,F403
