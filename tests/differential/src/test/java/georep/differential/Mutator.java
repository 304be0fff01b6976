// SPDX-License-Identifier: Apache-2.0
package georep.differential;

import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/** Makes wrong and unusual entries from those of real clients. The same seed gives the same entries. */
final class Mutator {
    private static final long[] NUMBERS = {0, 1, 2, 3, 4, 5, 7, 127, 128, 255, 65_535, 65_536, Integer.MAX_VALUE,
        1L << 31, 0xffffffffL, 1L << 32, (1L << 32) + 1, Long.MAX_VALUE, Long.MIN_VALUE, -1};
    private static final String[] KEYS = {"k1", "k2", "", "key-7", "AAE=", "schlüssel", "\uD83D\uDD11",
        "k".repeat(300)};

    private final Random random;
    private final List<byte[]> vectors;

    Mutator(long seed, List<byte[]> vectors) {
        this.random = new Random(seed);
        this.vectors = vectors;
    }

    /** The next entry: one of the vectors with one to three changes, mostly with the right checksum. */
    byte[] next() {
        RawEntry e = RawEntry.of(vectors.get(random.nextInt(vectors.size())));
        if (one(30) && messages(e) != null) {
            return changeTail(e);
        }
        if (one(3)) {
            repack(e);
        }
        int changes = 1 + random.nextInt(3);
        for (int i = 0; i < changes; i++) {
            switch (random.nextInt(4)) {
                case 0 -> changeFields(e.metadata, true);
                case 1 -> changeHead(e);
                case 2 -> changeMessages(e);
                default -> e.payload = one(3) ? e.payload : changePayload(e.payload);
            }
        }
        byte[] raw = e.bytes();
        if (one(5)) {
            raw = changeFrame(raw);
        }
        return one(12) ? raw : RawEntry.withChecksum(raw);
    }

    private boolean one(int in) {
        return random.nextInt(in) == 0;
    }

    private <T> T pick(List<T> of) {
        return of.get(random.nextInt(of.size()));
    }

    private long number() {
        return one(3) ? random.nextLong() >>> random.nextInt(64) : NUMBERS[random.nextInt(NUMBERS.length)];
    }

    /** Another codec, rightly. */
    private void repack(RawEntry e) {
        List<RawEntry.Message> messages = messages(e);
        if (messages != null) {
            e.pack(random.nextInt(5), RawEntry.join(messages));
        }
    }

    private static List<RawEntry.Message> messages(RawEntry e) {
        try {
            return e.messages();
        } catch (RuntimeException spoilt) { // by an earlier change
            return null;
        }
    }

    /** Fields that decide how an entry is read. */
    private void changeHead(RawEntry e) {
        switch (random.nextInt(10)) {
            case 9 -> e.metadata.raw.add(known());
            case 0 -> e.metadata.set(Fields.number(RawEntry.CODEC, one(3) ? number() : random.nextInt(6)));
            case 1 -> e.metadata.set(Fields.number(RawEntry.SIZE, size(e)));
            case 2 -> e.metadata.remove(RawEntry.SIZE);
            case 3 -> e.metadata.set(Fields.number(RawEntry.COUNT, one(2) ? number() : random.nextInt(6)));
            case 4 -> e.metadata.remove(RawEntry.COUNT);
            case 5 -> e.metadata.set(Fields.string(6, KEYS[random.nextInt(KEYS.length)]));
            case 6 -> stamp(e);
            case 7 -> e.metadata.raw.add(one(2) ? Fields.string(7, one(2) ? "west" : "north") : Fields.number(20, 21));
            default -> e.checksum = !e.checksum;
        }
    }

    /** A field that entries have, though few of the vectors do. */
    private byte[] known() {
        return switch (random.nextInt(6)) {
            case 0 -> Fields.bytes(one(2) ? 16 : 32, new byte[random.nextInt(9)]); // schema
            case 1 -> Fields.property(4, one(2) ? "__MSG_PROP_REPL_SOURCE_POSITION" : "__GEOREP_ORIGIN", "1:2");
            case 2 -> one(4) ? Fields.string(5, "north") : Fields.string(18, KEYS[random.nextInt(KEYS.length)]);
            case 3 -> Fields.number(one(2) ? 22 : 23, number()); // transaction
            case 4 -> Fields.number(List.of(12, 19, 24).get(random.nextInt(3)), number());
            default -> Fields.number(List.of(17, 25, 30).get(random.nextInt(3)), random.nextInt(3));
        };
    }

    private long size(RawEntry e) {
        long now = e.number(RawEntry.SIZE, e.payload.length);
        return switch (random.nextInt(5)) {
            case 0 -> number();
            case 1 -> now + 1;
            case 2 -> Math.max(0, now - 1);
            case 3 -> now / 2;
            default -> now * 2;
        };
    }

    private void stamp(RawEntry e) {
        e.metadata.set(Fields.number(33, one(2) ? random.nextInt(65_536) : number()));
        e.metadata.set(Fields.number(34, one(2) ? random.nextInt(65_536) : number()));
    }

    /** Messages repeated, dropped, reordered, with other keys, properties and flags; sizes follow or do not. */
    private void changeMessages(RawEntry e) {
        List<RawEntry.Message> messages = messages(e);
        if (messages == null || messages.isEmpty()) {
            changeFields(e.metadata, true);
            return;
        }
        int codec = (int) e.number(RawEntry.CODEC, 0);
        int n = messages.size();
        RawEntry.Message m = pick(messages);
        switch (random.nextInt(7)) {
            case 0 -> messages.add(random.nextInt(n + 1), new RawEntry.Message(m.meta, m.body));
            case 1 -> messages.remove(m);
            case 2 -> Collections.shuffle(messages, random);
            case 3 -> changeFields(m.meta, false);
            case 4 -> m.meta.set(Fields.string(one(3) ? 7 : 2, KEYS[random.nextInt(KEYS.length)]));
            case 5 -> m.meta.raw.add(one(2) ? Fields.property(1, "p" + random.nextInt(3), "v")
                    : Fields.number(List.of(4, 6, 9, 10).get(random.nextInt(4)), one(4) ? 2 : 1));
            default -> resize(m);
        }
        byte[] plain = RawEntry.join(messages);
        if (one(6)) {
            plain = changeBytes(plain);
        }
        boolean hadSize = e.has(RawEntry.SIZE);
        e.pack(codec, plain);
        if (hadSize && one(12)) {
            e.metadata.set(Fields.number(RawEntry.SIZE, size(e)));
        }
        if (!one(12)) {
            e.metadata.set(Fields.number(RawEntry.COUNT, messages.size()));
        }
    }

    private void resize(RawEntry.Message m) {
        m.body = Arrays.copyOf(m.body, random.nextInt(3) * random.nextInt(2_000));
        if (!one(4)) {
            m.meta.set(Fields.number(3, m.body.length));
        } else if (one(2)) {
            m.meta.set(Fields.number(3, number()));
        }
    }

    /** Fields dropped, repeated, reordered, spoilt, unknown ones added. */
    private void changeFields(Fields f, boolean outer) {
        int n = f.raw.size();
        int i = n == 0 ? 0 : random.nextInt(n);
        switch (n == 0 ? 9 : random.nextInt(12)) {
            case 0 -> f.raw.remove(i);
            case 1 -> f.raw.add(random.nextInt(n + 1), f.raw.get(i));
            case 2 -> Collections.shuffle(f.raw, random);
            case 3, 4 -> f.raw.set(i, otherNumber(f.raw.get(i)));
            case 5 -> f.raw.set(i, longVarint(f.raw.get(i)));
            case 6 -> f.raw.set(i, otherTag(f.raw.get(i)));
            case 7 -> f.raw.set(i, changeBytes(f.raw.get(i)));
            case 8 -> f.raw.set(i, otherLength(f.raw.get(i)));
            case 9 -> f.raw.add(random.nextInt(n + 1), unknown());
            case 10 -> f.raw.add(outer ? Fields.property(4, "o" + random.nextInt(3), "v") : Fields.number(8, number()));
            default -> f.raw.add(packed());
        }
    }

    private byte[] otherNumber(byte[] field) {
        return Fields.type(field) == Fields.VARINT ? Fields.number(Fields.number(field), number()) : field;
    }

    /** The same number, written longer than need be. */
    private byte[] longVarint(byte[] field) {
        if (field.length == 0) {
            return field;
        }
        byte[] out = Arrays.copyOf(field, field.length + 1 + random.nextInt(10));
        if (Fields.type(field) == Fields.VARINT) {
            for (int i = field.length - 1; i < out.length - 1; i++) {
                out[i] |= (byte) 0x80;
            }
            return out;
        }
        ByteArrayOutputStream b = new ByteArrayOutputStream();
        int tag = Fields.varintLength(field, 0);
        b.write(field, 0, tag - 1);
        b.write(field[tag - 1] | 0x80);
        for (int i = random.nextInt(9); i > 0; i--) {
            b.write(0x80);
        }
        b.write(0);
        b.write(field, tag, field.length - tag);
        return b.toByteArray();
    }

    private byte[] otherTag(byte[] field) {
        if (field.length == 0) {
            return unknown();
        }
        byte[] out = field.clone();
        if (one(2)) {
            out[0] = (byte) (out[0] & ~7 | random.nextInt(8));
        } else {
            out[0] = (byte) (random.nextInt(16) << 3 | out[0] & 7);
        }
        return out;
    }

    private byte[] otherLength(byte[] field) {
        int tag = Fields.varintLength(field, 0);
        int size = Fields.varintLength(field, tag);
        if (Fields.type(field) != Fields.BYTES || tag + size > field.length) {
            return otherNumber(field);
        }
        long n = Fields.varint(field, tag);
        ByteArrayOutputStream b = new ByteArrayOutputStream();
        b.write(field, 0, tag);
        Fields.put(b, switch (random.nextInt(4)) {
            case 0 -> n + 1;
            case 1 -> Math.max(0, n - 1);
            case 2 -> n + (1L << 32);
            default -> number();
        });
        b.write(field, tag + size, field.length - tag - size);
        return b.toByteArray();
    }

    private byte[] unknown() {
        return switch (random.nextInt(5)) {
            case 0 -> Fields.number(35 + random.nextInt(100), number());
            case 1 -> Fields.bytes(35 + random.nextInt(100), new byte[random.nextInt(40)]);
            case 2 -> new byte[] {(byte) (20 << 3 | Fields.FIXED32 & 7), 1, 1, 2, 3, 4};
            case 3 -> new byte[] {(byte) 0xa1, 3, 1, 2, 3, 4, 5, 6, 7, 8};
            default -> new byte[] {(byte) (random.nextInt(2) == 0 ? 0x0b : 0x03), 0x08, 1, 0x0c};
        };
    }

    private byte[] packed() {
        ByteArrayOutputStream b = new ByteArrayOutputStream();
        for (int i = random.nextInt(4); i >= 0; i--) {
            Fields.put(b, one(3) ? number() : random.nextInt(4));
        }
        return Fields.bytes(31, b.toByteArray());
    }

    /** The end alone of a packed batch: a broken-off zlib stream, another last token in LZ4. */
    private byte[] changeTail(RawEntry e) {
        boolean lz4 = one(2);
        e.pack(lz4 ? 1 : 2, RawEntry.join(messages(e)));
        e.payload = lz4 ? e.payload : brokenOff(e.payload);
        if (lz4) {
            e.payload[Math.max(0, e.payload.length - 1 - random.nextInt(20))] ^= (byte) (1 + random.nextInt(15));
        }
        return e.bytes();
    }

    private byte[] brokenOff(byte[] in) {
        byte[] out = Arrays.copyOf(in, Math.max(1, in.length - random.nextInt(6)));
        out[out.length - 1] = (byte) random.nextInt();
        return out;
    }

    /** Mostly at the ends, where codecs have their headers and checks. */
    private byte[] changePayload(byte[] in) {
        int n = Math.min(in.length, 12);
        return switch (random.nextInt(4)) {
            case 0 -> brokenOff(in);
            case 1 -> join(changeBytes(Arrays.copyOf(in, n)), Arrays.copyOfRange(in, n, in.length));
            case 2 -> join(Arrays.copyOf(in, in.length - n),
                    changeBytes(Arrays.copyOfRange(in, in.length - n, in.length)));
            default -> changeBytes(in);
        };
    }

    private static byte[] join(byte[]... pieces) {
        ByteArrayOutputStream b = new ByteArrayOutputStream();
        for (byte[] p : pieces) {
            b.writeBytes(p);
        }
        return b.toByteArray();
    }

    /** Bits flipped, bytes put in, taken out, cut off, added, repeated. */
    private byte[] changeBytes(byte[] in) {
        if (in.length == 0) {
            return new byte[random.nextInt(4)];
        }
        int at = random.nextInt(in.length);
        int n = 1 + random.nextInt(Math.min(8, in.length - at));
        byte[] out = in.clone();
        return switch (random.nextInt(6)) {
            case 0 -> {
                out[at] ^= (byte) (1 << random.nextInt(8));
                yield out;
            }
            case 1 -> {
                out[at] = (byte) random.nextInt();
                yield out;
            }
            case 2 -> Arrays.copyOf(in, at);
            case 3 -> Arrays.copyOf(in, in.length + n);
            case 4 -> join(Arrays.copyOf(in, at), Arrays.copyOfRange(in, at + n, in.length));
            default -> join(Arrays.copyOf(in, at + n), Arrays.copyOfRange(in, at, in.length));
        };
    }

    /** Magic numbers, sizes, and any byte of the whole. */
    private byte[] changeFrame(byte[] raw) {
        if (one(2) || raw.length < 16) {
            return changeBytes(raw);
        }
        byte[] out = raw.clone();
        int at = one(2) ? random.nextInt(2) : 2 + random.nextInt(12);
        out[at] = (byte) (one(2) ? out[at] + (one(2) ? 1 : -1) : random.nextInt());
        return out;
    }
}
