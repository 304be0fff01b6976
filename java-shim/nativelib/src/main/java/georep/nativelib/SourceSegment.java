// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;

/**
 * The source side of a replication: who sends, from which segment, to which remote.
 *
 * @param cluster         this cluster's name
 * @param remote          the destination cluster's name
 * @param topic           topic://tenant/namespace/name
 * @param instance        topic instance id
 * @param generation      of this replication
 * @param segment         the source segment's id
 * @param rangeStart      of its hash range, inclusive
 * @param rangeEnd        of its hash range, inclusive
 * @param profile         {@link Peer#PROFILE_M1} or {@link Peer#PROFILE_PIP486}
 * @param maxMessageBytes the destination's limit for header and payload; 0 = none
 */
public record SourceSegment(String cluster, String remote, String topic, String instance, long generation,
                            long segment, int rangeStart, int rangeEnd, int profile, int maxMessageBytes) {
    private static final int BYTES = 112;

    /** The georep_source, with the bytes of its names behind it. */
    ByteBuffer toStruct() {
        byte[][] names = {cluster.getBytes(UTF_8), remote.getBytes(UTF_8), topic.getBytes(UTF_8),
            instance.getBytes(UTF_8)};
        int size = BYTES;
        for (byte[] n : names) {
            size += n.length;
        }
        ByteBuffer b = Scratch.direct(size);
        long base = Native.address(b);
        b.putInt(0, BYTES).putInt(4, profile);
        int at = BYTES;
        for (int i = 0; i < names.length; i++) {
            b.put(at, names[i]);
            b.putLong(8 + 16 * i, base + at).putInt(16 + 16 * i, names[i].length);
            at += names[i].length;
        }
        return b.putLong(72, generation).putLong(80, segment).putInt(88, rangeStart).putInt(92, rangeEnd)
                .putInt(104, maxMessageBytes);
    }
}
