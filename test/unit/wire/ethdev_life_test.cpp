// SPDX-License-Identifier: BSD-3-Clause
#include <rte_ethdev.h>

#include <set>

#include "ring_peer.h"
#include "support.h"

// Of the driver interface: how a driver tells of its events.
extern "C" {
struct rte_eth_dev* rte_eth_dev_allocated(const char* name);
int rte_eth_dev_callback_process(struct rte_eth_dev* dev, enum rte_eth_event_type event, void* ret_param);
}

namespace chime::wire::test {

namespace {

/// What an application sees that takes every port it finds.
std::set<std::uint16_t> visible_ports() {
  std::set<std::uint16_t> ports;
  std::uint16_t port = 0;
  while ((port = static_cast<std::uint16_t>(rte_eth_find_next_owned_by(port, RTE_ETH_DEV_NO_OWNER))) <
         RTE_MAX_ETHPORTS) {
    ports.insert(port++);
  }
  return ports;
}

std::string owner_of(std::uint16_t port) {
  rte_eth_dev_owner owner{};
  EXPECT_EQ(rte_eth_dev_owner_get(port, &owner), 0);
  return owner.id == RTE_ETH_DEV_NO_OWNER ? "" : owner.name;
}

void raise(const char* port, rte_eth_event_type event) {
  rte_eth_dev_callback_process(rte_eth_dev_allocated(port), event, nullptr);
}

testing::AssertionResult contains(const char* text, const char* part) {
  if (std::string(text).find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "\"" << text << "\" has no \"" << part << "\"";
}

}  // namespace

class EthdevLifeTest : public WireTest {
 protected:
  void expect_traffic(Plugged& card, RingPeer& peer) {
    transmit(*card.wire, {frame_bytes(64, 1)});
    EXPECT_EQ(peer.take(), std::vector<std::string>{frame_bytes(64, 1)});
    card.port.received.clear();
    ASSERT_TRUE(peer.put(frame_bytes(128, 2)));
    card->poll(64);
    EXPECT_EQ(card.port.received, std::vector<std::string>{frame_bytes(128, 2)});
  }
};

TEST_F(EthdevLifeTest, ClaimsAPortThatIsThere) {
  RingPeer peer("peer");
  EXPECT_EQ(visible_ports().count(peer.port()), 1u);
  Plugged card(make("net_chime0", peer.port_name()));
  EXPECT_EQ(owner_of(peer.port()), "wire of net_chime0");
  EXPECT_EQ(visible_ports().count(peer.port()), 0u);
  EXPECT_FALSE(card->link().up);
  transmit(*card.wire, {frame_bytes(64)});
  EXPECT_EQ(card->statistics().tx_dropped.gone, 1u);
  EXPECT_EQ(card->poll(64), 0u);
  int changes = card.port.changes;
  ASSERT_TRUE(use(*card.wire));
  EXPECT_EQ(card.port.changes, changes + 1);
  expect_traffic(card, peer);
}

TEST_F(EthdevLifeTest, FramesWaitUntilThePortBegins) {
  RingPeer peer("peer");
  Plugged card(make("net_chime0", peer.port_name()));
  ASSERT_TRUE(peer.put(frame_bytes(64, 1)));
  ASSERT_TRUE(card->ready());
  EXPECT_EQ(card->largest_frame(), 9996u);
  EXPECT_EQ(card->poll(64), 0u);
  EXPECT_FALSE(card->link().up);
  ASSERT_TRUE(card->ready()) << "a start that failed is tried again";
  card->begin();
  EXPECT_TRUE(card->link().up);
  EXPECT_EQ(card->poll(64), 1u);
  EXPECT_EQ(card.port.received, std::vector<std::string>{frame_bytes(64, 1)});
  EXPECT_EQ(card->statistics().rx_dropped.total(), 0u);
}

/// What an application does before it removes a wire's device: it stops the port.
TEST_F(EthdevLifeTest, IsNotTouchedAfterItsEnd) {
  RingPeer peer("peer");
  Plugged card(make("net_chime0", peer.port_name()));
  ASSERT_TRUE(use(*card.wire));
  card->end();
  EXPECT_TRUE(card->link().up) << "as last seen";
  const int changes = card.port.changes;
  ASSERT_TRUE(peer.put(frame_bytes(64, 1)));
  transmit(*card.wire, {frame_bytes(64)});
  EXPECT_EQ(card->statistics().tx_dropped.gone, 1u);
  EXPECT_EQ(card->poll(64), 0u);
  EXPECT_TRUE(use(*card.wire));
  EXPECT_EQ(card->poll(64), 1u) << "it waited";
  card->end();
  peer.remove();
  EXPECT_FALSE(card->link().up);
  EXPECT_GT(card.port.changes, changes);
  EXPECT_EQ(card->ready().error().errnum, ENODEV);
  peer.add();
  // Looked after in EAL's alarm thread, and yet not begun.
  EXPECT_TRUE(eventually([&] { return card->ready().has_value(); }));
  card->poll(64);
  EXPECT_FALSE(card->link().up);
  card->begin();
  expect_traffic(card, peer);
}

TEST_F(EthdevLifeTest, ClaimsAPortBeforeAnybodySeesIt) {
  struct Seen {
    std::string owner;
  } seen;
  // An application's own callback comes after ours, and finds an owner already.
  auto look = [](std::uint16_t port, rte_eth_event_type, void* arg, void*) {
    rte_eth_dev_owner owner{};
    rte_eth_dev_owner_get(port, &owner);
    static_cast<Seen*>(arg)->owner = owner.name;
    return 0;
  };
  Plugged card(make("net_chime0", "net_ring_late"));
  EXPECT_FALSE(card->link().up);
  EXPECT_EQ(card->largest_frame(), 1518u);
  ASSERT_EQ(rte_eth_dev_callback_register(RTE_ETH_ALL, RTE_ETH_EVENT_NEW, look, &seen), 0);
  RingPeer peer("late");
  EXPECT_EQ(seen.owner, "wire of net_chime0");
  rte_eth_dev_callback_unregister(RTE_ETH_ALL, RTE_ETH_EVENT_NEW, look, &seen);
  EXPECT_EQ(visible_ports().count(peer.port()), 0u);

  EXPECT_TRUE(eventually([&] {
    card->poll(64);
    return card->largest_frame() == 9996;
  })) << "what it can carry is known before it is started";
  EXPECT_TRUE(eventually([&] {
    card->poll(64);
    return card.port.changes == 2;
  })) << "plugged in, and this";
  EXPECT_FALSE(card->link().up);
  ASSERT_TRUE(use(*card.wire));
  expect_traffic(card, peer);
}

TEST_F(EthdevLifeTest, OtherPortsThatAppearAreLeftAlone) {
  auto wire = make("net_chime0", "net_ring_late");
  RingPeer other("other"), later("later");
  EXPECT_EQ(visible_ports().count(other.port()), 1u);
  EXPECT_EQ(visible_ports().count(later.port()), 1u);
  EXPECT_EQ(owner_of(other.port()), "");
}

TEST_F(EthdevLifeTest, ReadyNamesThePortsThereAre) {
  RingPeer one("one"), two("two");
  auto taken = make("net_chime1", two.port_name());
  auto wire = make("net_chime0", "net_ring_missing");
  auto ok = use(*wire);
  ASSERT_FALSE(ok);
  EXPECT_EQ(ok.error().errnum, ENODEV);
  EXPECT_STREQ(ok.error().text,
               "net_chime0: there is no port net_ring_missing to be its wire; ports there are: net_ring_one, "
               "net_ring_two (of wire of net_chime1)");
  // It is not too late.
  RingPeer missing("missing");
  EXPECT_TRUE(use(*wire));
}

TEST_F(EthdevLifeTest, GivesThePortBack) {
  RingPeer peer("peer");
  for (int round = 0; round < 100; ++round) {
    {
      Plugged card(make("net_chime0", peer.port_name()));
      ASSERT_TRUE(use(*card.wire));
      expect_traffic(card, peer);
    }
    EXPECT_EQ(owner_of(peer.port()), "");
    EXPECT_EQ(visible_ports().count(peer.port()), 1u);
  }
}

TEST_F(EthdevLifeTest, ReadyTwiceIsOnce) {
  RingPeer peer("peer");
  Plugged card(make("net_chime0", peer.port_name()));
  ASSERT_TRUE(use(*card.wire));
  ASSERT_TRUE(use(*card.wire));
  expect_traffic(card, peer);
}

TEST_F(EthdevLifeTest, GoesAndComesBack) {
  RingPeer peer("peer");
  Plugged card(make("net_chime0", peer.port_name()));
  ASSERT_TRUE(use(*card.wire));
  for (int round = 0; round < 3; ++round) {
    expect_traffic(card, peer);
    int changes = card.port.changes;
    peer.remove();
    EXPECT_FALSE(card->link().up);
    EXPECT_EQ(card.port.changes, changes + 1);
    auto dropped = card->statistics().tx_dropped.gone;
    transmit(*card.wire, {frame_bytes(64), frame_bytes(64)});
    EXPECT_EQ(card->statistics().tx_dropped.gone, dropped + 2);
    EXPECT_EQ(card->poll(64), 0u);
    EXPECT_EQ(use(*card.wire).error().errnum, ENODEV);

    // Another port takes the number meanwhile.
    RingPeer other("other");
    peer.add();
    EXPECT_EQ(owner_of(peer.port()), "wire of net_chime0");
    EXPECT_TRUE(eventually([&] {
      card->poll(64);
      return card->link().up;
    })) << "taken again without being asked";
    expect_traffic(card, peer);
    EXPECT_EQ(owner_of(other.port()), "");
  }
}

// Who removes a device holds its bus's lock and waits until nobody looks after the port; who looks after it
// asks the bus for the device.
TEST_F(EthdevLifeTest, GoesWhileItIsLookedAfter) {
  RingPeer peer("peer");
  Plugged card(make("net_chime0", peer.port_name()));
  for (int round = 0; round < 100; ++round) {
    peer.remove();
    peer.add();
  }
  ASSERT_TRUE(eventually([&] { return use(*card.wire).has_value(); }));
  expect_traffic(card, peer);
}

TEST_F(EthdevLifeTest, GoesBeforeItWasUsed) {
  RingPeer peer("peer");
  Plugged card(make("net_chime0", peer.port_name()));
  peer.remove();
  EXPECT_EQ(use(*card.wire).error().errnum, ENODEV);
  peer.add();
  EXPECT_TRUE(use(*card.wire));
  expect_traffic(card, peer);
}

TEST_F(EthdevLifeTest, TheWireMayOutliveItsPort) {
  auto peer = std::make_unique<RingPeer>("peer");
  auto wire = make("net_chime0", peer->port_name());
  ASSERT_TRUE(use(*wire));
  peer.reset();
  wire.reset();
}

TEST_F(EthdevLifeTest, OwnedElsewhereIsRefused) {
  RingPeer peer("peer");
  rte_eth_dev_owner owner{};
  ASSERT_EQ(rte_eth_dev_owner_new(&owner.id), 0);
  std::snprintf(owner.name, sizeof owner.name, "somebody");
  ASSERT_EQ(rte_eth_dev_owner_set(peer.port(), &owner), 0);
  Error error = refused("net_chime0", peer.port_name());
  EXPECT_EQ(error.errnum, EBUSY);
  EXPECT_STREQ(
      error.text,
      "net_chime0: net_ring_peer can't be its wire, it has another owner, somebody; ports there are: "
      "net_ring_peer (of somebody)");
  EXPECT_EQ(owner_of(peer.port()), "somebody");
  ASSERT_EQ(rte_eth_dev_owner_unset(peer.port(), owner.id), 0);
  EXPECT_TRUE(make("net_chime0", peer.port_name()));
}

TEST_F(EthdevLifeTest, StartedElsewhereIsRefused) {
  RingPeer peer("peer");
  rte_eth_conf conf{};
  rte_mempool* pool = rte_pktmbuf_pool_create("app", 127, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
  ASSERT_EQ(rte_eth_dev_configure(peer.port(), 1, 1, &conf), 0);
  ASSERT_EQ(rte_eth_rx_queue_setup(peer.port(), 0, 64, 0, nullptr, pool), 0);
  ASSERT_EQ(rte_eth_tx_queue_setup(peer.port(), 0, 64, 0, nullptr), 0);
  ASSERT_EQ(rte_eth_dev_start(peer.port()), 0);
  {
    auto wire = make("net_chime0", peer.port_name());
    auto ok = use(*wire);
    ASSERT_FALSE(ok);
    EXPECT_EQ(ok.error().errnum, EBUSY);
    EXPECT_TRUE(contains(ok.error().text, "net_chime0: wire net_ring_peer: it is started by somebody else"));
  }
  ASSERT_EQ(rte_eth_dev_stop(peer.port()), 0) << "and was left as it was";
  Plugged card(make("net_chime0", peer.port_name()));
  EXPECT_TRUE(use(*card.wire));
  expect_traffic(card, peer);
  rte_mempool_free(pool);
}

TEST_F(EthdevLifeTest, APortIsTheWireOfOne) {
  RingPeer peer("peer");
  auto wire = make("net_chime0", peer.port_name());
  Error error = refused("net_chime1", peer.port_name());
  EXPECT_EQ(error.errnum, EBUSY);
  EXPECT_TRUE(contains(error.text, "net_ring_peer is the wire of net_chime0 already"));
  auto absent = make("net_chime2", "net_absent");
  EXPECT_EQ(refused("net_chime3", "net_absent").errnum, EBUSY) << "though it isn't there yet";
}

TEST_F(EthdevLifeTest, CyclesAreRefusedAndChainsAreNot) {
  RingPeer peer("peer");
  Error itself = refused("net_chime0", "net_chime0");
  EXPECT_EQ(itself.errnum, ELOOP);
  EXPECT_STREQ(itself.text, "net_chime0 can't be its own wire; ports there are: net_ring_peer; or loop");

  auto c = make("net_chime2", "net_chime0"), a = make("net_chime0", "net_chime1");
  Error cycle = refused("net_chime1", "net_chime2");
  EXPECT_EQ(cycle.errnum, ELOOP);
  EXPECT_STREQ(
      cycle.text,
      "net_chime1 with wire net_chime2 is a cycle: the wires of net_chime2 lead back to it; ports there "
      "are: net_ring_peer");
  EXPECT_TRUE(make("net_chime1", peer.port_name()));
}

TEST_F(EthdevLifeTest, ListsAsManyPortsAsFit) {
  std::vector<std::string> names;
  for (int i = 0; i < 5; ++i) {
    names.push_back("net_null_with_a_rather_long_name_" + std::to_string(i));
    add_port(names.back().c_str());
  }
  Error error = refused("net_chime0", "net_chime0");
  EXPECT_TRUE(contains(error.text, "net_null_with_a_rather_long_name_2, ...; or loop"));
  for (const auto& name : names) remove_port(name.c_str());
}

TEST_F(EthdevLifeTest, APulledDeviceIsLeftAlone) {
  RingPeer peer("peer");
  Plugged card(make("net_chime0", peer.port_name()));
  ASSERT_TRUE(use(*card.wire));
  int changes = card.port.changes;
  raise(peer.port_name(), RTE_ETH_EVENT_INTR_RMV);
  ASSERT_TRUE(peer.put(frame_bytes(64)));
  EXPECT_EQ(card->poll(64), 0u);
  EXPECT_FALSE(card->link().up);
  EXPECT_EQ(card.port.changes, changes + 1);
  transmit(*card.wire, {frame_bytes(64)});
  EXPECT_EQ(card->statistics().tx_dropped.gone, 1u);
  EXPECT_TRUE(contains(use(*card.wire).error().text, "net_ring_peer was removed"));
  peer.remove();
  peer.add();
  EXPECT_TRUE(eventually([&] {
    card->poll(64);
    return card->link().up;
  }));
}

TEST_F(EthdevLifeTest, TheLinkIsTheEthdevs) {
  RingPeer peer("peer");
  Plugged card(make("net_chime0", peer.port_name()));
  ASSERT_TRUE(use(*card.wire));
  int changes = card.port.changes;
  ASSERT_EQ(rte_eth_dev_set_link_down(peer.port()), 0);
  EXPECT_TRUE(card->link().up) << "nobody has looked yet";
  clock.now += 60'000'000;
  for (int i = 0; i < 256; ++i) card->poll(1);
  EXPECT_FALSE(card->link().up);
  EXPECT_EQ(card.port.changes, changes + 1);
  transmit(*card.wire, {frame_bytes(64)});
  EXPECT_EQ(card->statistics().tx_dropped.link_down, 1u);
  // A driver that interrupts need not be asked.
  ASSERT_EQ(rte_eth_dev_set_link_up(peer.port()), 0);
  raise(peer.port_name(), RTE_ETH_EVENT_INTR_LSC);
  card->poll(1);
  EXPECT_TRUE(card->link().up);
}

TEST_F(EthdevLifeTest, TheFactoryMayBeMadeAgain) {
  RingPeer peer("peer");
  for (int round = 0; round < 3; ++round) {
    auto wire = make("net_chime0", peer.port_name());
    ASSERT_TRUE(use(*wire));
    wire.reset();
    factory.reset();
    SetUp();
  }
}

}  // namespace chime::wire::test
