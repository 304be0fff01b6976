// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** The little protobuf that this package needs to fill requests and read short answers. */
final class Wire {
    /** A message without content. */
    static final byte[] NOTHING = {};

    private final ByteArrayOutputStream out = new ByteArrayOutputStream();

    Wire varint(int field, long v) {
        if (v != 0) {
            raw((long) field << 3);
            raw(v);
        }
        return this;
    }

    Wire bool(int field, boolean v) {
        return varint(field, v ? 1 : 0);
    }

    Wire string(int field, String v) {
        return v == null || v.isEmpty() ? this : bytes(field, v.getBytes(StandardCharsets.UTF_8));
    }

    Wire bytes(int field, byte[] v) {
        raw((long) field << 3 | 2);
        raw(v.length);
        out.writeBytes(v);
        return this;
    }

    byte[] bytes() {
        return out.toByteArray();
    }

    private void raw(long v) {
        while ((v & ~0x7fL) != 0) {
            out.write((int) (v & 0x7f) | 0x80);
            v >>>= 7;
        }
        out.write((int) v);
    }

    /** Reads what the library wrote; not meant for bytes from elsewhere. */
    static final class Reader {
        private final byte[] b;
        private int at;
        private long tag;

        Reader(byte[] b) {
            this.b = b;
        }

        boolean next() {
            if (at >= b.length) {
                return false;
            }
            tag = varint();
            return true;
        }

        int field() {
            return (int) (tag >>> 3);
        }

        long varint() {
            long v = 0;
            for (int shift = 0; shift < 64; shift += 7) {
                byte c = b[at++];
                v |= (long) (c & 0x7f) << shift;
                if (c >= 0) {
                    return v;
                }
            }
            throw new IllegalStateException("varint of more than 10 bytes");
        }

        String string() {
            int n = (int) varint();
            String s = new String(b, at, n, StandardCharsets.UTF_8);
            at += n;
            return s;
        }

        /** A message inside this one. */
        Reader message() {
            return new Reader(bytes());
        }

        byte[] bytes() {
            int n = (int) varint();
            at += n;
            return Arrays.copyOfRange(b, at - n, at);
        }

        void skip() {
            switch ((int) (tag & 7)) {
                case 0 -> varint();
                case 1 -> at += 8;
                case 2 -> {
                    int n = (int) varint();
                    at += n;
                }
                case 5 -> at += 4;
                default -> throw new IllegalStateException("wire type " + (tag & 7));
            }
        }
    }
}
