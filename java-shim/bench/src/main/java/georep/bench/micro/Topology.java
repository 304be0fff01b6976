// SPDX-License-Identifier: Apache-2.0
package georep.bench.micro;

import georep.nativelib.Layout;
import georep.nativelib.Peer;
import georep.nativelib.SourceSegment;
import georep.nativelib.WindowConfig;

/** The two clusters of all benchmarks: the source is one segment, the destination has four of the same width. */
final class Topology {
    static final String LOCAL = "eu";
    static final String REMOTE = "us";
    static final long LEDGER = 71_423;
    static final int SEGMENTS = 4;
    static final int MAX_MESSAGE_BYTES = 5 << 20;

    private static final String TOPIC = "topic://public/default/orders";
    private static final String INSTANCE = "0f3c9a5d7e214b86a1c05d7e39b2f481";
    private static final int RING_END = 65_535;

    private Topology() { }

    /** Destination segment of a routing hash: what the layout below says. */
    static int segment(int hash) {
        return hash * SEGMENTS >>> 16;
    }

    static Layout destination() {
        StringBuilder s = new StringBuilder("{\"epoch\":1,\"segments\":{");
        int width = (RING_END + 1) / SEGMENTS;
        for (int i = 0; i < SEGMENTS; i++) {
            s.append(i == 0 ? "" : ",").append('"').append(i).append("\":{\"segmentId\":").append(i)
                    .append(",\"hashRange\":{\"start\":").append(i * width).append(",\"end\":")
                    .append((i + 1) * width - 1).append("},\"state\":\"ACTIVE\"}");
        }
        return Layout.fromPulsarJson(s.append("}}").toString(), Peer.PROFILE_M1);
    }

    /** The source, which nothing of the destination covers: its batches are cut. */
    static SourceSegment whole() {
        return source(RING_END);
    }

    /** A source as wide as the destination's first segment: its entries go as they are. */
    static SourceSegment fitting() {
        return source(RING_END / SEGMENTS);
    }

    private static SourceSegment source(int rangeEnd) {
        return new SourceSegment(LOCAL, REMOTE, TOPIC, INSTANCE, 1, 0, 0, rangeEnd, Peer.PROFILE_M1,
                MAX_MESSAGE_BYTES);
    }

    /** A window of {@link #fitting} that can hold so many bytes. */
    static WindowConfig window(long bytes) {
        return new WindowConfig().clusters(LOCAL, REMOTE).segment(0, 0, RING_END / SEGMENTS, Peer.PROFILE_M1, false)
                .topic(TOPIC, INSTANCE, 1).policies(false, false, true)
                .entryLimits(16 << 20, 128 << 20, 100_000).windowLimits(1000, bytes, 100).retryMillis(100);
    }
}
