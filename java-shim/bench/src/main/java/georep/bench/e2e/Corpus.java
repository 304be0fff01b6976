// SPDX-License-Identifier: Apache-2.0
package georep.bench.e2e;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.zip.CRC32C;
import org.apache.pulsar.common.util.Murmur3_32Hash;

/**
 * Messages like JSON, the same in every run: for each of four segments batches whose keys belong there. A backlog is
 * these batches again and again.
 */
final class Corpus {
    static final int SEGMENTS = 4;
    static final int BATCH = 1000;
    static final int SIZE = 1024;
    /** Batches of a segment that differ. */
    static final int CYCLE = 16;
    static final long RAW = (long) BATCH * SIZE;
    private static final int KEYS = 64; // per segment
    private static final int RING_BITS = 16;
    private static final String[] EVENTS = {"page_view", "add_to_cart", "checkout", "search", "login"};
    private static final String[] STATES = {"OK", "PENDING", "FAILED"};

    /** A message, with its value's checksum. */
    record Message(String key, byte[] value, int crc) { }

    private final Message[][][] messages = new Message[SEGMENTS][CYCLE][BATCH];

    Corpus() {
        Random r = new Random(495);
        String[][] keys = keys(r);
        for (int i = 0; i < CYCLE; i++) {
            for (int s = 0; s < SEGMENTS; s++) {
                for (int m = 0; m < BATCH; m++) {
                    byte[] value = value(r, i * BATCH + m);
                    messages[s][i][m] = new Message(keys[s][r.nextInt(KEYS)], value,
                            crc(Unpooled.wrappedBuffer(value)));
                }
            }
        }
    }

    /** Profile m1: the low half of a key's hash is its place on the ring. */
    private static String[][] keys(Random r) {
        String[][] keys = new String[SEGMENTS][KEYS];
        int[] found = new int[SEGMENTS];
        for (int missing = SEGMENTS * KEYS; missing > 0;) {
            String key = "user-" + r.nextInt(1_000_000);
            int at = Murmur3_32Hash.getInstance().makeHash(key.getBytes(StandardCharsets.UTF_8))
                    & (1 << RING_BITS) - 1;
            int s = at * SEGMENTS >> RING_BITS;
            if (found[s] < KEYS) {
                keys[s][found[s]++] = key;
                missing--;
            }
        }
        return keys;
    }

    private static byte[] value(Random r, int number) {
        StringBuilder s = new StringBuilder(SIZE + 200);
        s.append("{\"number\":").append(number).append(",\"id\":\"").append(Long.toHexString(r.nextLong()))
                .append("\",\"event\":\"").append(EVENTS[r.nextInt(EVENTS.length)]).append('"');
        for (int k = 0; s.length() < SIZE; k++) {
            s.append(",\"attribute_").append(k % 12).append("\":{\"name\":\"item-").append(r.nextInt(5000))
                    .append("\",\"status\":\"").append(STATES[r.nextInt(STATES.length)]).append("\",\"price\":")
                    .append(r.nextInt(10_000)).append('.').append(r.nextInt(100)).append(",\"token\":\"")
                    .append(Long.toHexString(r.nextLong())).append("\"}");
        }
        return s.substring(0, SIZE).getBytes(StandardCharsets.US_ASCII);
    }

    /** Messages of one segment's batch; batches count on and on, and repeat. */
    Message[] batch(int segment, long number) {
        return messages[segment][(int) (number % CYCLE)];
    }

    /** By key, the checksums of its values in the order in which one cycle of a segment's batches has them. */
    Map<String, List<Integer>> sequences(int segment, int batches) {
        Map<String, List<Integer>> all = new HashMap<>();
        for (int i = 0; i < batches; i++) {
            for (Message m : messages[segment][i]) {
                all.computeIfAbsent(m.key, k -> new ArrayList<>()).add(m.crc);
            }
        }
        return all;
    }

    static int crc(ByteBuf bytes) {
        CRC32C crc = new CRC32C();
        for (var b : bytes.nioBuffers()) {
            crc.update(b);
        }
        return (int) crc.getValue();
    }
}
