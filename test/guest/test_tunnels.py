# SPDX-License-Identifier: BSD-3-Clause
"""Offloads inside tunnels: the stock mlx5_core sends, and the kernel at the other end of the cable checks every
checksum itself. (Not iperf3: its server stops counting when its client has sent all, not when all has come.)"""
import re

import pytest

OTHER = "ip netns exec other"
THERE = '("10.9.0.2", 5001)'
RECEIVE = f"""
import socket, sys
connection = socket.create_server({THERE}).accept()[0]
while got := connection.recv(1 << 16): sys.stdout.buffer.write(got)"""
SEND = f"""
import socket, sys
socket.create_connection({THERE}).sendfile(sys.stdin.buffer)"""
KINDS = {
    "vxlan": "type vxlan id 42 dstport 4789 local {local} remote {remote}",
    "vxlan with outer checksums": "type vxlan id 43 dstport 4790 local {local} remote {remote} udpcsum",
    "gretap": "type gretap local {local} remote {remote} key 7",
    "gre": "type gre local {local} remote {remote}",
    "ipip": "type ipip local {local} remote {remote}",
}


@pytest.fixture(scope="module")
def guest(boot):
    made = boot([("net0", {"wire": "cable:a", "mac": "02:00:00:00:00:01"}),
                 ("net1", {"wire": "cable:a", "mac": "02:00:00:00:00:02"})])
    made.run("""
        set -e
        ip netns add other; modprobe mlx5_core
        ip link set eth1 netns other
        ip addr add 10.0.0.1/24 dev eth0; ip link set eth0 up
        ip -n other addr add 10.0.0.2/24 dev eth1; ip -n other link set eth1 up
        ip netns exec other ethtool -K eth1 rx-checksum off gro off
        for i in $(seq 100); do ping -c 1 -W 1 10.0.0.2 > /dev/null && exit 0; done; exit 1""")
    return made


def counter(guest, name: str) -> int:
    return int(re.search(rf"^{name}\s+(\d+)", guest.run(f"{OTHER} nstat -asz {name}"), re.MULTILINE).group(1))


def test_features(guest):
    text = guest.run("ethtool -k eth0")
    for feature in ("tx-udp_tnl-segmentation", "tx-udp_tnl-csum-segmentation", "tx-gre-segmentation",
                    "tx-gre-csum-segmentation", "tx-ipxip4-segmentation"):
        assert re.search(rf"^\s*{feature}: on$", text, re.MULTILINE), feature


@pytest.mark.parametrize("kind", KINDS)
def test_tcp(guest, kind):
    options = KINDS[kind]
    guest.mark()
    guest.run(f"""
        set -e
        ip link add tun0 {options.format(local='10.0.0.1', remote='10.0.0.2')}
        ip -n other link add tun0 {options.format(local='10.0.0.2', remote='10.0.0.1')}
        ip addr add 10.9.0.1/24 dev tun0; ip link set tun0 up mtu 1400
        ip -n other addr add 10.9.0.2/24 dev tun0; ip -n other link set tun0 up mtu 1400""")
    try:
        before = guest.statistics("eth0")
        errors = counter(guest, "TcpInCsumErrors") + counter(guest, "UdpInCsumErrors")
        guest.run("ping -c 3 -i 0.01 -W 5 10.9.0.2")
        guest.run(f"""
            set -e
            head -c 1M /dev/urandom > /tmp/sent
            {OTHER} python3 -c '{RECEIVE}' > /tmp/received & receiver=$!
            until {OTHER} ss -Hltn 'sport = :5001' | grep -q LISTEN; do sleep 0.05; done
            python3 -c '{SEND}' < /tmp/sent
            wait $receiver
            cmp /tmp/sent /tmp/received""", timeout=120)
        after = guest.statistics("eth0")
        assert counter(guest, "TcpInCsumErrors") + counter(guest, "UdpInCsumErrors") == errors
        assert after["tx_tso_inner_packets"] > before["tx_tso_inner_packets"]
        assert after["tx_csum_partial_inner"] > before["tx_csum_partial_inner"]
    finally:
        guest.run("ip link del tun0; ip -n other link del tun0; true")
    assert guest.faults() == []
