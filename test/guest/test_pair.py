# SPDX-License-Identifier: BSD-3-Clause
"""The stock mlx5_core on two cards with a cable between them: eth0 here, eth1 in a namespace, one after the other."""
import re
import time

import pytest

HERE, THERE = "10.0.0.1", "10.0.0.2"
OTHER = "ip netns exec other"


@pytest.fixture(scope="module")
def guest(boot):
    made = boot([("net0", {"wire": "cable:a", "mac": "02:00:00:00:00:01"}),
                 ("net1", {"wire": "cable:a", "mac": "02:00:00:00:00:02"})])
    made.mark()
    made.run("ip netns add other; modprobe mlx5_core")
    bring_up(made)
    return made


def bring_up(guest) -> None:
    """Addresses and links of the cards, whose driver was just loaded."""
    guest.run(f"""
        set -e
        ip link set eth1 netns other
        ip addr add {HERE}/24 dev eth0; ip link set eth0 up
        ip -n other addr add {THERE}/24 dev eth1; ip -n other link set eth1 up
        for i in $(seq 100); do
          grep -q 1 /sys/class/net/eth0/carrier && {OTHER} cat /sys/class/net/eth1/carrier | grep -q 1 && break
          sleep 0.1
        done""")


def ping(guest, count: int = 5, options: str = "", to: str = THERE) -> None:
    text = guest.run(f"ping -c {count} -i 0.005 -W 5 {options} {to}")
    assert f"{count} packets transmitted, {count} received, 0% packet loss" in text


def carrier(guest, wanted: str) -> bool:
    for _ in range(100):
        if guest.run("cat /sys/class/net/eth0/carrier") == wanted:
            return True
        time.sleep(0.1)
    return False


def test_probe(guest):
    text = guest.run("dmesg")
    assert "firmware version: 22.35.1012" in text
    assert "MLX5E: StrdRq(1)" in text
    assert guest.faults() == []
    assert guest.run("cat /sys/class/net/eth0/address") == "02:00:00:00:00:01"
    assert "Mellanox Technologies MT2892 Family [ConnectX-6 Dx]" in guest.run("lspci -nn -s 00:03.0")


def test_lspci(guest):
    text = guest.run("lspci -vv -s 00:03.0")
    assert "Memory at" in text and "[size=32M]" in text
    assert "MSI-X: Enable+ Count=64 Masked-" in text
    assert "FLReset+" in text and "Kernel driver in use: mlx5_core" in text


def test_ping(guest):
    guest.mark()
    ping(guest, 1000)
    assert guest.faults() == []


def test_driver_and_firmware(guest):
    text = guest.run("ethtool -i eth0")
    assert "driver: mlx5_core" in text and "bus-info: 0000:00:03.0" in text
    assert re.search(r"^firmware-version: 22\.35\.1012 \(\S+\)$", text, re.MULTILINE)


def test_link_settings(guest):
    text = guest.run("ethtool eth0")
    assert re.search(r"Speed: \d+Mb/s", text) and "Duplex: Full" in text and "Link detected: yes" in text


def test_module(guest):
    text = guest.run("ethtool -m eth0")
    assert "QSFP28" in text and "100G Base-CR4" in text
    assert re.search(r"^\s*Vendor name\s*: Chime\s*$", text, re.MULTILINE)
    assert "Direct Attach Copper" in guest.run("ethtool eth0")


def test_error_correction(guest):
    assert "Active FEC encoding: RS" in guest.run("ethtool --show-fec eth0")
    guest.run("ethtool --set-fec eth0 encoding off")
    assert "Active FEC encoding: Off" in guest.run("ethtool --show-fec eth0")
    guest.run("ethtool --set-fec eth0 encoding auto")


def test_features(guest):
    text = guest.run("ethtool -k eth0")
    for feature in ("rx-checksumming", "tx-checksum-ip-generic", "tx-tcp-segmentation", "tx-tcp6-segmentation",
                    "rx-vlan-offload", "tx-vlan-offload", "receive-hashing", "rx-vlan-filter"):
        assert re.search(rf"^\s*{feature}: on$", text, re.MULTILINE), feature


def test_hashing(guest):
    text = guest.run("ethtool -x eth0")
    assert "RX ring(s)" in text and "toeplitz: on" in text
    guest.run("ethtool -X eth0 equal 1")


def test_rules_and_contexts(guest):
    guest.mark()
    assert "New RSS context is 1" in guest.run("ethtool -X eth0 equal 1 context new")
    number = re.search(r"ID (\d+)", guest.run("ethtool -N eth0 flow-type udp4 dst-port 7 context 1")).group(1)
    text = guest.run("ethtool -n eth0")
    assert f"Filter: {number}" in text and "RSS Context ID: 1" in text and "Dest port: 7" in text
    drop = re.search(r"ID (\d+)", guest.run(f"ethtool -N eth0 flow-type ip4 src-ip {THERE} action -1")).group(1)
    assert "100% packet loss" in guest.status(f"ping -c 3 -i 0.01 -W 1 {THERE}")[0]
    guest.run(f"ethtool -N eth0 delete {drop}")
    ping(guest)
    guest.run(f"ethtool -N eth0 delete {number}; ethtool -X eth0 context 1 delete")
    guest.run("ethtool -N eth0 rx-flow-hash udp4 sdfn")
    assert "L4 bytes 0 & 1" in guest.run("ethtool -n eth0 rx-flow-hash udp4")
    assert guest.faults() == []


def test_moderation_and_pause(guest):
    guest.run("ethtool -C eth0 adaptive-rx off rx-usecs 3 rx-frames 5; ethtool -A eth0 rx off tx off")
    text = guest.run("ethtool -c eth0; ethtool -a eth0")
    assert re.search(r"rx-usecs:\s+3$", text, re.MULTILINE) and re.search(r"RX:\s+off", text)
    ping(guest)
    guest.run("ethtool -C eth0 adaptive-rx on")


def test_statistics(guest):
    before = guest.statistics("eth0")
    ping(guest, 10)
    after = guest.statistics("eth0")
    for name in ("rx_packets", "tx_packets", "rx_packets_phy", "tx_packets_phy", "tx_vport_unicast_packets",
                 "rx_vport_unicast_packets"):
        assert after[name] - before[name] >= 10, name
    assert after["rx_crc_errors_phy"] == 0 and after["rx_out_of_buffer"] == 0


def test_statistics_of_pci(guest):
    """A card's answer to MPCNT: between the model and the guest there are no errors."""
    counters = guest.statistics("eth0")
    for name in ("rx_pci_signal_integrity", "tx_pci_signal_integrity", "outbound_pci_buffer_overflow",
                 "outbound_pci_stalled_rd", "outbound_pci_stalled_wr", "outbound_pci_stalled_rd_events",
                 "outbound_pci_stalled_wr_events"):
        assert counters[name] == 0, name


def test_rings_change(guest):
    guest.mark()
    for rx, tx in ((256, 512), (4096, 2048), (1024, 1024)):
        guest.run(f"ethtool -G eth0 rx {rx} tx {tx}")
        assert re.search(rf"Current.*RX:\s+{rx}\n.*TX:\s+{tx}\n", guest.run("ethtool -g eth0"), re.DOTALL)
        ping(guest)
    assert guest.faults() == []


@pytest.mark.parametrize("striding", ["off", "on"])
def test_receive_queue_kinds(guest, striding):
    guest.mark()
    guest.run(f"ethtool --set-priv-flags eth0 rx_striding_rq {striding}; "
              "ip link set eth0 mtu 9000; ip -n other link set eth1 mtu 9000")
    try:
        before = guest.statistics("eth0")
        ping(guest, 100, "-s 8000")
        assert iperf(guest, "-R") > 0
        after = guest.statistics("eth0")
        assert (after["rx_mpwqe_filler_cqes"] > before["rx_mpwqe_filler_cqes"]) == (striding == "on")
    finally:
        guest.run("ip link set eth0 mtu 1500; ip -n other link set eth1 mtu 1500")
    ping(guest)
    assert guest.faults() == []


def test_channels(guest):
    text = guest.run("ethtool -l eth0")
    assert re.search(r"Current.*Combined:\s+1", text, re.DOTALL)
    guest.run("ethtool -L eth0 combined 1; true")
    ping(guest)


def test_link_flap(guest):
    guest.mark()
    for _ in range(3):
        assert guest.control("link net0 down")["ok"]
        assert carrier(guest, "0")
        assert guest.control("link net0 up")["ok"]
        assert carrier(guest, "1")
    text = guest.run("dmesg").rpartition("chime-mark")[2]
    assert text.count("eth0: Link down") == 3 and text.count("eth0: Link up") == 3
    ping(guest)
    assert guest.faults() == []


def test_why_there_is_no_link(guest):
    guest.mark()
    try:
        assert guest.control("link net0 down")["ok"]
        assert carrier(guest, "0")
        assert "Link detected: no (Autoneg, No partner detected)" in guest.run("ethtool eth0")
        guest.run("ethtool -s eth0 autoneg off speed 100000 duplex full")
        assert "Link detected: no (Autoneg, No partner detected during force mode)" in guest.run("ethtool eth0")
    finally:
        guest.run("ethtool -s eth0 autoneg on")
        assert guest.control("link net0 up")["ok"]
    assert carrier(guest, "1")
    assert re.search(r"Link detected: yes$", guest.run("ethtool eth0"), re.MULTILINE)
    ping(guest)
    assert guest.faults() == []


def test_largest_frames(guest):
    try:
        for mtu in (9000, 9978, 68, 1500):
            guest.run(f"ip link set eth0 mtu {mtu}; ip -n other link set eth1 mtu {mtu}")
            if mtu > 68:
                ping(guest, 5, f"-M do -s {mtu - 28}")
        assert guest.status("ip link set eth0 mtu 9979")[1] != 0
    finally:
        guest.run("ip link set eth0 mtu 1500; ip -n other link set eth1 mtu 1500")
        guest.run(f"ip addr replace {HERE}/24 dev eth0; ip -n other addr replace {THERE}/24 dev eth1")


def test_vlan(guest):
    guest.mark()
    guest.run("""
        set -e
        ip link add link eth0 name vlan7 type vlan id 7
        ip -n other link add link eth1 name vlan7 type vlan id 7
        ip addr add 10.7.0.1/24 dev vlan7; ip link set vlan7 up
        ip -n other addr add 10.7.0.2/24 dev vlan7; ip -n other link set vlan7 up""")
    before = guest.statistics("eth0")
    ping(guest, 20, to="10.7.0.2")
    after = guest.statistics("eth0")
    assert after["tx_added_vlan_packets"] - before["tx_added_vlan_packets"] >= 20
    assert after["rx_removed_vlan_packets"] - before["rx_removed_vlan_packets"] >= 20
    guest.run("ethtool -K eth0 rxvlan off txvlan off")
    ping(guest, 10, to="10.7.0.2")
    guest.run("ethtool -K eth0 rxvlan on txvlan on; ip link del vlan7; ip -n other link del vlan7")
    ping(guest)
    assert guest.faults() == []


def test_promiscuous_and_multicast(guest):
    guest.run("ip link set eth0 promisc on; ip link set eth0 allmulticast on")
    ping(guest)
    guest.run("ip link set eth0 promisc off; ip link set eth0 allmulticast off")
    text = guest.run("ping -c 3 -i 0.01 -6 ff02::1%eth0")
    assert "3 received" in text


def test_compressed_completions(guest):
    guest.mark()
    guest.run("ethtool --set-priv-flags eth0 rx_cqe_compress on")
    before = guest.statistics("eth0")
    ping(guest, 20)
    assert iperf(guest, "-R") > 0
    after = guest.statistics("eth0")
    assert after["rx_cqe_compress_blks"] > before["rx_cqe_compress_blks"]
    assert after["rx_cqe_compress_pkts"] - before["rx_cqe_compress_pkts"] > 10
    guest.run("ethtool --set-priv-flags eth0 rx_cqe_compress off")
    ping(guest)
    assert guest.faults() == []


def iperf(guest, options: str = "") -> float:
    """@return Mbit/s that the receiver saw"""
    guest.run(f"""{OTHER} iperf3 -s -1 -D
        until {OTHER} ss -Hltn 'sport = :5201' | grep -q .; do sleep 0.05; done""")
    text = guest.run(f"iperf3 -c {THERE} -t 1 -f m {options}", timeout=120)
    return float(re.search(r"([\d.]+) Mbits/sec.*receiver", text).group(1))


@pytest.mark.parametrize("options", ["", "-R", "-u -b 5M", "-u -b 5M -R"])
def test_streams(guest, options):
    guest.mark()
    before = guest.statistics("eth0")
    assert iperf(guest, options) > 0
    after = guest.statistics("eth0")
    if not options:
        assert after["tx_tso_packets"] > before["tx_tso_packets"]
    for name in ("rx_wqe_err", "tx_cqe_err", "tx_recover", "rx_recover"):
        assert after[name] == 0, name
    assert guest.faults() == []


def test_streams_without_offloads(guest):
    guest.mark()
    guest.run("ethtool -K eth0 tso off tx off rx off gro off")
    try:
        before = guest.statistics("eth0")
        assert iperf(guest) > 0
        after = guest.statistics("eth0")
        assert after["tx_tso_packets"] == before["tx_tso_packets"]
        assert after["rx_csum_complete"] == before["rx_csum_complete"]
    finally:
        guest.run("ethtool -K eth0 tx on tso on rx on gro on")
    assert iperf(guest) > 0
    assert guest.faults() == []


def test_devlink(guest):
    text = guest.run("devlink dev info pci/0000:00:03.0")
    assert "driver mlx5_core" in text and "fw.psid" in text
    text = guest.run("devlink health show pci/0000:00:03.0 reporter fw_fatal")
    assert "state healthy error 0 recover 0" in text


def test_interface_restarts(guest):
    guest.mark()
    before = guest.objects("net0")
    for _ in range(5):
        guest.run("ip link set eth0 down; ip link set eth0 up")
    assert carrier(guest, "1")
    ping(guest)
    assert guest.objects("net0") == before
    assert guest.faults() == []


def test_reloads(guest):
    """Nothing is left of a driver that was removed; it comes back as often as one wants."""
    guest.mark()
    for _ in range(20):
        guest.run("modprobe -r mlx5_core")
        assert guest.objects("net0") == {} and guest.objects("net1") == {}
        guest.run("modprobe mlx5_core")
    assert "FW pages counter is" not in guest.run("dmesg")
    bring_up(guest)
    ping(guest)
    assert guest.faults() == []


def test_cards_said_nothing_bad(guest):
    for nic in ("net0", "net1"):
        counters = guest.control(f"counters {nic}")
        assert counters["errors"] == 0 and counters["interrupts"]["lost"] == 0, counters


def test_remove(guest):
    guest.mark()
    guest.run("modprobe -r mlx5_core")
    assert guest.objects("net0") == {}
    assert guest.faults() == []
