# SPDX-License-Identifier: BSD-3-Clause
"""What the system tests ask of the driver over the embedded HCA, over virtual cards beside their stock kernel drivers."""
import pytest
from atomics import *  # noqa: F401,F403
from card import CARDS, Card, prepare
from errors import *  # noqa: F401,F403
from frames import *  # noqa: F401,F403
from interrupts import *  # noqa: F401,F403
from loop import *  # noqa: F401,F403
from port import *  # noqa: F401,F403
from rss import *  # noqa: F401,F403


@pytest.fixture(scope="module")
def guest(boot):
    made = boot(CARDS)
    made.mark()
    prepare(made)
    made.before = [made.objects(name) for name, _ in CARDS]
    return made


@pytest.fixture
def backend(guest, build):
    made = Card(guest, build)
    yield made
    made.close()


def test_cards_have_addresses_of_their_own(guest):
    """None was given, and the stock driver shows them."""
    addresses = guest.run("cat /sys/class/net/eth[0-2]/address").split()
    assert len(set(addresses)) == len(CARDS) == 3, addresses


def test_the_end(guest):
    """Nothing of it is left on the cards, and the kernel has found no fault."""
    assert [guest.objects(name) for name, _ in CARDS] == guest.before
    assert guest.faults() == []
