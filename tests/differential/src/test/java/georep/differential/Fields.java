// SPDX-License-Identifier: Apache-2.0
package georep.differential;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;

/** A protobuf message as a list of its fields' raw bytes, so that it can be written wrongly. */
final class Fields {
    static final int VARINT = 0;
    static final int BYTES = 2;
    static final int FIXED64 = 1;
    static final int FIXED32 = 5;

    final List<byte[]> raw = new ArrayList<>();

    /** Splits a message that is well formed, and throws for another. */
    static Fields of(byte[] message) {
        Fields f = new Fields();
        for (int at = 0; at < message.length;) {
            int end = fieldEnd(message, at);
            if (end <= at || end > message.length) {
                throw new IllegalArgumentException("not well formed");
            }
            f.raw.add(java.util.Arrays.copyOfRange(message, at, end));
            at = end;
        }
        return f;
    }

    private static int fieldEnd(byte[] b, int at) {
        int type = (int) varint(b, at) & 7;
        int value = at + varintLength(b, at);
        return switch (type) {
            case VARINT -> value + varintLength(b, value);
            case FIXED64 -> value + 8;
            case FIXED32 -> value + 4;
            default -> value + varintLength(b, value) + (int) varint(b, value);
        };
    }

    /** The number at a place; of one that is cut off, what is there. */
    static long varint(byte[] b, int at) {
        long v = 0;
        for (int i = 0; i < 10 && at + i < b.length; i++) {
            v |= (long) (b[at + i] & 0x7f) << 7 * i;
            if (b[at + i] >= 0) {
                break;
            }
        }
        return v;
    }

    static int varintLength(byte[] b, int at) {
        int n = 1;
        while (at + n < b.length && b[at + n - 1] < 0) {
            n++;
        }
        return n;
    }

    static int number(byte[] field) {
        return (int) (varint(field, 0) >>> 3);
    }

    static int type(byte[] field) {
        return field.length == 0 ? -1 : field[0] & 7;
    }

    /** Place of the first field with a number, or -1. */
    int find(int number) {
        for (int i = 0; i < raw.size(); i++) {
            if (number(raw.get(i)) == number) {
                return i;
            }
        }
        return -1;
    }

    /** Replaces the first field with the new one's number, or appends it. */
    void set(byte[] field) {
        int i = find(number(field));
        if (i < 0) {
            raw.add(field);
        } else {
            raw.set(i, field);
        }
    }

    void remove(int number) {
        raw.removeIf(f -> number(f) == number);
    }

    byte[] join() {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        raw.forEach(out::writeBytes);
        return out.toByteArray();
    }

    static byte[] number(int number, long value) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        put(out, (long) number << 3);
        put(out, value);
        return out.toByteArray();
    }

    static byte[] bytes(int number, byte[] value) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        put(out, (long) number << 3 | BYTES);
        put(out, value.length);
        out.writeBytes(value);
        return out.toByteArray();
    }

    static byte[] string(int number, String value) {
        return bytes(number, value.getBytes(java.nio.charset.StandardCharsets.UTF_8));
    }

    static byte[] property(int number, String key, String value) {
        ByteArrayOutputStream kv = new ByteArrayOutputStream();
        kv.writeBytes(string(1, key));
        kv.writeBytes(string(2, value));
        return bytes(number, kv.toByteArray());
    }

    static void put(ByteArrayOutputStream out, long v) {
        for (; (v & ~0x7fL) != 0; v >>>= 7) {
            out.write((int) (v & 0x7f) | 0x80);
        }
        out.write((int) v);
    }
}
