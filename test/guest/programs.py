# SPDX-License-Identifier: BSD-3-Clause
"""RDMA programs that have a server and a client, both in one guest."""


def pair(guest, program: str, options: str, server: str = "mlx5_1", client: str = "mlx5_0") -> str:
    """@return what the client said; both ends succeeded"""
    text, status = guest.status(f"""
        timeout 30 {program} -d {server} {options} > /tmp/server 2>&1 & server=$!
        for i in $(seq 200); do ss -Hltn | grep -q ':18515 ' && break; sleep 0.05; done
        timeout 30 {program} -d {client} {options} 127.0.0.1 2>&1; client=$?
        wait $server; server=$?
        [ $client = 0 ] && [ $server = 0 ] || cat /tmp/server
        exit $((client + server))""", timeout=90)
    assert status == 0, text
    return text
