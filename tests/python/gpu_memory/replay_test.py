# SPDX-FileCopyrightText: 2026 The tandem authors
# SPDX-License-Identifier: Apache-2.0
"""The replay of the allocator's history: which blocks there were, and what the allocator took for them."""

import unittest

from tandem.gpu_memory.replay import Replay

MIB = 1 << 20


def segment(address, total, blocks=(), kind="large", **more):
    """Blocks are (size, asked bytes); asked 0: free. What is left of the segment is free."""
    inside = [{"size": size, "requested_size": asked, "state": "active_allocated" if asked else "inactive"} for size, asked in blocks]
    left = total - sum(size for size, _ in blocks)
    if left:
        inside.append({"size": left, "requested_size": 0, "state": "inactive"})
    return {"device": 0, "address": address, "total_size": total, "segment_type": kind, "blocks": inside, **more}


def entries(*actions):
    return [{"action": action, "addr": address, "size": size, "time_us": 100 + 10 * i} for i, (action, address, size) in enumerate(actions)]


def freed(address, size):
    return ("free_requested", address, size), ("free_completed", address, size)


class ReplayTest(unittest.TestCase):
    def test_what_was_there_before(self):
        replay = Replay(0, [segment(0, 2 * MIB, [(1024, 1000), (512, 0), (512, 4)], "small")], [])
        self.assertEqual([(b.address, b.size, b.taken, b.born) for b in replay.blocks], [(0, 1000, 1024, -1), (1536, 4, 512, -1)])
        self.assertEqual((replay.peak.allocated, replay.peak.reserved), (1536, 2 * MIB))

    def test_sizes_are_rounded(self):
        replay = Replay(0, [], entries(("segment_alloc", 0, 2 * MIB), ("alloc", 0, 1), ("alloc", 512, 513)))
        self.assertEqual([b.taken for b in replay.blocks], [512, 1024])

    def test_a_small_rest_of_a_large_segment_is_not_split_off(self):
        for rest, taken in ((MIB, 20 * MIB), (MIB + 512, 19 * MIB - 512)):
            replay = Replay(0, [], entries(("segment_alloc", 0, 20 * MIB), ("alloc", 0, 20 * MIB - rest)))
            self.assertEqual([b.taken for b in replay.blocks], [taken], rest)

    def test_an_expandable_segment_is_split_finely(self):
        replay = Replay(0, [segment(0, 20 * MIB, is_expandable=True)], entries(("alloc", 0, 20 * MIB - 512)))
        self.assertEqual(replay.blocks[0].taken, 20 * MIB - 512)

    def test_neighbours_are_joined_within_a_segment(self):
        make = [("segment_alloc", 0, 20 * MIB), ("segment_alloc", 20 * MIB, 20 * MIB), ("alloc", 0, 8 * MIB), ("alloc", 8 * MIB, 8 * MIB)]
        replay = Replay(0, [], entries(*make, *freed(8 * MIB, 8 * MIB), *freed(0, 8 * MIB), ("alloc", 0, 19 * MIB + 5)))
        self.assertEqual(replay.blocks[-1].taken, 20 * MIB)  # of the first segment alone

    def test_a_block_that_another_stream_uses_waits(self):
        replay = Replay(0, [], entries(("segment_alloc", 0, 2 * MIB), ("alloc", 0, 512), ("free_requested", 0, 512), ("alloc", 512, 512),
                                       ("free_completed", 0, 512)))
        self.assertEqual([(m.allocated, m.active) for m in replay.moments[2:]], [(512, 512), (0, 512), (512, 1024), (512, 512)])
        self.assertEqual((replay.blocks[0].born, replay.blocks[0].died), (1, 2))

    def test_the_peak_and_what_was_alive(self):
        replay = Replay(0, [], entries(("segment_alloc", 0, 2 * MIB), ("alloc", 0, 512), ("alloc", 512, 512), *freed(0, 512), ("alloc", 0, 100)))
        self.assertEqual((replay.peak.place, replay.peak.allocated), (2, 1024))
        self.assertEqual([b.address for b in replay.alive_at(2)], [0, 512])

    def test_a_failed_allocation(self):
        replay = Replay(0, [], entries(("oom", 0, 5 * MIB)))
        self.assertEqual([(place, entry["size"]) for place, entry in replay.failures], [(0, 5 * MIB)])


if __name__ == "__main__":
    unittest.main()
