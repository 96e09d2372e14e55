#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report_recordings.py FOLDER: the recordings that doc/report.md goes through: app.atf, a made-up program that makes
small pictures of large ones in three threads, one of which has more to do; and six runs of it, old-1 to old-3 and new-1
to new-3, in which `filter_row` is 10 % slower in the new ones. The same every time: no clock, no random numbers.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "interop"))

from atf_reader import CALL, EXCEPTION, NONE, RETURN  # noqa: E402
from atf_writer import MODULE, ThreadWriter, fnv1a, function_id, manifest_of, write_process  # noqa: E402

LIBRARY = fnv1a("libcodec.so")
# Functions by name: module, file, line.
PLACES = {
    "main": (MODULE, "thumbs.c", 88), "read_settings": (MODULE, "thumbs.c", 20), "pthread_create": (MODULE, None, 0),
    "pthread_join": (MODULE, None, 0), "worker": (MODULE, "thumbs.c", 61), "thumbnail": (MODULE, "thumbs.c", 40),
    "scale": (MODULE, "scale.c", 31), "filter_row": (MODULE, "scale.c", 9), "decode": (LIBRARY, "decode.c", 70),
    "decode_block": (LIBRARY, "decode.c", 33), "encode": (LIBRARY, "encode.c", 52),
}
FUNCTIONS = {name: function_id(number, place[0]) for number, (name, place) in enumerate(PLACES.items(), 1)}
NAMES = ("main", "worker-1", "worker-2", "worker-3")
PICTURES = (0, 14, 15, 27)  # by thread
BROKEN = (2, 7)  # thread and picture: decode fails


class Run:
    """One run of the program: `speed` of the machine, and what filter_row costs more, in thousandths."""

    def __init__(self, seed, speed=1000, slower=0):
        self.state, self.speed, self.slower = seed, speed, slower
        self.threads = [ThreadWriter(slot) for slot in range(4)]

    def noise(self, limit):
        """A number below the limit, as good as chance."""
        self.state = (self.state * 1103515245 + 12345) % 2**31
        return (self.state >> 8) % limit

    def spend(self, thread, nanoseconds):
        thread.time += nanoseconds * self.speed * (990 + self.noise(21)) // 1_000_000

    def put(self, thread, kind, name):
        if kind == CALL:
            thread.stack.append(name)
        thread.events.append((thread.time, FUNCTIONS[name], thread.slot, kind, len(thread.stack), NONE))
        if kind != CALL:
            thread.stack.pop()

    def call(self, thread, name, nanoseconds):
        """A call that makes no others."""
        self.put(thread, CALL, name)
        self.spend(thread, nanoseconds)
        self.put(thread, RETURN, name)

    def decode_block(self, thread, depth):
        """A block is decoded by its quarters, two of which have something in them."""
        self.put(thread, CALL, "decode_block")
        self.spend(thread, 9_000)
        for _ in range(2 if depth else 0):
            self.decode_block(thread, depth - 1)
        self.put(thread, RETURN, "decode_block")

    def thumbnail(self, thread, picture):
        broken = (thread.slot, picture) == BROKEN
        self.put(thread, CALL, "thumbnail")
        self.spend(thread, 15_000)
        self.put(thread, CALL, "decode")
        self.spend(thread, 30_000)
        self.decode_block(thread, 3 + (picture % 5 == 0))
        self.put(thread, EXCEPTION if broken else RETURN, "decode")
        if broken:
            self.put(thread, EXCEPTION, "thumbnail")
            return
        self.put(thread, CALL, "scale")
        self.spend(thread, 8_000)
        for _ in range(24):
            self.call(thread, "filter_row", 12_000 * (1000 + self.slower) // 1000)
        self.put(thread, RETURN, "scale")
        self.call(thread, "encode", 140_000 + self.noise(60_000))
        self.put(thread, RETURN, "thumbnail")

    def write(self, path):
        first, *workers = self.threads
        self.put(first, CALL, "main")
        self.call(first, "read_settings", 400_000)
        for worker in workers:
            self.call(first, "pthread_create", 30_000)
            worker.time = first.time + 20_000
        for worker in workers:
            self.put(worker, CALL, "worker")
            for picture in range(PICTURES[worker.slot]):
                self.spend(worker, 5_000)
                self.thumbnail(worker, picture)
            self.put(worker, RETURN, "worker")
        for worker in workers:
            self.put(first, CALL, "pthread_join")
            first.time = max(first.time, worker.time) + 4_000
            self.put(first, RETURN, "pthread_join")
        self.spend(first, 50_000)
        self.put(first, RETURN, "main")
        write_process(path, self.threads, self.manifest())

    def manifest(self):
        manifest = manifest_of(self.threads, pid=4711)
        for thread, name in zip(manifest["threads"], NAMES):
            thread["name"] = name
        program = dict(manifest["modules"][0], path="/opt/thumbs/bin/thumbs")
        library = dict(program, module_id=LIBRARY, path="/opt/thumbs/lib/libcodec.so", base_address="0x7f0000000000")
        manifest["modules"] = [program, library]
        manifest["symbols"] = []
        for number, (name, (module, file, line)) in enumerate(PLACES.items(), 1):
            symbol = {"function_id": f"{FUNCTIONS[name]:#018x}", "module_id": module, "symbol_index": number,
                      "name": name}
            manifest["symbols"].append(dict(symbol, file=f"/src/thumbs/{file}", line=line) if file else symbol)
        return manifest


def main():
    folder = sys.argv[1]
    Run(1).write(os.path.join(folder, "app.atf"))
    for number, speed in enumerate((1004, 1011, 996), 1):
        Run(number * 77, speed).write(os.path.join(folder, f"old-{number}"))
    for number, speed in enumerate((1009, 994, 1002), 1):
        Run(number * 1001, speed, 100).write(os.path.join(folder, f"new-{number}"))


if __name__ == "__main__":
    main()
