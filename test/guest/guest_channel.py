# SPDX-License-Identifier: BSD-3-Clause
"""A program in the guest behind a channel as in test/system/channel.py: the same tests can drive it there."""
import base64
import itertools
import shlex
import time

from channel import ChannelClosed

_serial = itertools.count()


class GuestChannel:
    """Its input is a pipe in the guest, its output a file there. A program that polls leaves the guest's one CPU to others
    (nice)."""

    def __init__(self, session, command: list[str], environment: dict[str, str] | None = None):
        self.session = session
        self.place = f"/run/program{next(_serial)}"
        self.offset = 0
        words = ["env", *[f"{name}={value}" for name, value in (environment or {}).items()],
                 "nice", "-n", "19", "stdbuf", "-oL", *command]
        # The second opening of the pipe keeps it open between two inputs.
        self.pid = int(session.run(f"""
            mkfifo {self.place}.in
            setsid bash -c 'exec 3<>{self.place}.in
              "$@" <&3 3<&- & echo $! > {self.place}.pid; wait $!; echo $? > {self.place}.status' - {shlex.join(words)} \\
              > {self.place}.out 2>&1 &
            for i in $(seq 100); do [ -s {self.place}.pid ] && break; sleep 0.05; done
            cat {self.place}.pid"""))

    def send(self, text: str) -> None:
        encoded = base64.b64encode(text.encode()).decode()
        self.session.run(f"echo {encoded} | base64 -d > {self.place}.in")

    def read(self, seconds: float) -> str:
        """What arrives within `seconds`; returns as soon as there is something. Empty at the end of the time."""
        end = time.monotonic() + seconds
        out, begin = f"{self.place}.out", self.offset + 1
        while True:
            # Waits in the guest: a program that looks again and again would cost more than what it looks for.
            text = self.session.run(f"""
                exec 9< <(exec tail -c +{begin} -f --pid={self.pid} {out} 2> /dev/null) || exit
                exec 2> /dev/null
                read -r -d '' -n 1 -t {max(0.1, min(seconds, 20)):.1f} <&9
                kill $!
                kill -0 {self.pid} && state=running || state=ended
                echo $state $(tail -c +{begin} {out} | base64 -w0)""")
            state, _, encoded = text.partition(" ")
            data = base64.b64decode(encoded)
            self.offset += len(data)
            if data:
                return data.decode(errors="replace")
            if state == "ended":
                raise ChannelClosed("", None)
            if time.monotonic() > end:
                return ""

    def running(self) -> bool:
        return self.session.status(f"kill -0 {self.pid}")[1] == 0

    def kill(self) -> None:
        """kill -9, and waits until it has gone with all that it had."""
        self.session.run(f"kill -9 {self.pid}; while kill -0 {self.pid} 2>/dev/null; do sleep 0.05; done")

    def wait(self, seconds: float) -> int:
        """@return the exit status; kills the program when its end does not come."""
        end = time.monotonic() + seconds
        while self.running():
            if time.monotonic() > end:
                self.kill()
                raise TimeoutError(f"{self.pid} did not end within {seconds} s")
            time.sleep(0.2)
        return int(self.session.run(f"for i in $(seq 100); do [ -s {self.place}.status ] && break; sleep 0.05; done; "
                                    f"cat {self.place}.status"))

    def close(self) -> None:
        if self.running():
            self.kill()
