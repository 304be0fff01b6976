// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32C;

/** Entries as Pulsar writes them, for tests: written and read here, without the library. */
final class Entries {
    private Entries() {}

    /** A batch of messages with these keys, stamped. */
    static ByteBuffer batch(String... keys) {
        Wire payload = new Wire();
        long min = 0xffff;
        long max = 0;
        ByteBuffer body = ByteBuffer.allocate(64 * 1024);
        for (String k : keys) {
            long b = Georep.keyHash(utf8(k)) & 0xffff;
            min = Math.min(min, b);
            max = Math.max(max, b);
            byte[] value = utf8("value of " + k);
            byte[] m = new Wire().string(2, k).varint(3, value.length).bytes();
            body.putInt(m.length).put(m).put(value);
        }
        byte[] p = new byte[body.position()];
        body.get(0, p);
        byte[] meta = new Wire().string(1, "producer").varint(2, 9).varint(3, 1_764_470_000_000L).string(6, keys[0])
                .varint(11, keys.length).varint(33, min).varint(34, max).bytes();
        return entry(meta, p);
    }

    /** [0x0e01 | crc32c | size | metadata | payload] in direct memory. */
    static ByteBuffer entry(byte[] meta, byte[] payload) {
        ByteBuffer b = ByteBuffer.allocateDirect(10 + meta.length + payload.length);
        b.putShort((short) 0x0e01).putInt(0).putInt(meta.length).put(meta).put(payload).flip();
        b.putInt(2, crc(b, 6));
        return b;
    }

    static int crc(ByteBuffer b, int from) {
        CRC32C c = new CRC32C();
        c.update(b.duplicate().position(from));
        return (int) c.getValue();
    }

    /** Keys whose raw hash lies in [first, last]. */
    static String[] keys(int n, long first, long last) {
        String[] out = new String[n];
        for (int i = 0, at = 0; at < n; i++) {
            long h = Georep.keyHash(utf8("key-" + i));
            if (h >= first && h <= last) {
                out[at++] = "key-" + i;
            }
        }
        return out;
    }

    static byte[] utf8(String s) {
        return s.getBytes(StandardCharsets.UTF_8);
    }
}
