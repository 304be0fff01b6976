// SPDX-License-Identifier: Apache-2.0
package georep.differential;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;

/** An entry taken apart, to be put together again differently. */
final class RawEntry {
    static final short CHECKSUM = 0x0e01;
    static final short BROKER = 0x0e02;
    /** Where the codec, the size and the count of a batch are in its metadata. */
    static final int CODEC = 8;
    static final int SIZE = 9;
    static final int COUNT = 11;
    /** Bytes of the largest batch that is opened to be changed. */
    private static final int MAX_PLAIN = 1 << 20;

    /** One message of a batch. */
    static final class Message {
        Fields meta;
        byte[] body;

        Message(Fields meta, byte[] body) {
            this.meta = meta;
            this.body = body;
        }
    }

    byte[] broker;
    boolean checksum;
    Fields metadata;
    byte[] payload;

    /** Takes a well-formed entry apart. */
    static RawEntry of(byte[] raw) {
        RawEntry e = new RawEntry();
        ByteBuffer b = ByteBuffer.wrap(raw);
        if (b.getShort(0) == BROKER) {
            e.broker = new byte[b.position(2).getInt()];
            b.get(e.broker);
        }
        if (b.getShort(b.position()) == CHECKSUM) {
            e.checksum = true;
            b.position(b.position() + 6);
        }
        byte[] meta = new byte[b.getInt()];
        b.get(meta);
        e.metadata = Fields.of(meta);
        e.payload = new byte[b.remaining()];
        b.get(e.payload);
        return e;
    }

    byte[] bytes() {
        byte[] meta = metadata.join();
        int head = (broker == null ? 0 : 6 + broker.length) + (checksum ? 6 : 0);
        ByteBuffer b = ByteBuffer.allocate(head + 4 + meta.length + payload.length);
        if (broker != null) {
            b.putShort(BROKER).putInt(broker.length).put(broker);
        }
        if (checksum) {
            b.putShort(CHECKSUM).putInt(0);
        }
        b.putInt(meta.length).put(meta).put(payload);
        return withChecksum(b.array());
    }

    /** The entry with the right checksum, where it has one and its frame leads to it. */
    static byte[] withChecksum(byte[] raw) {
        byte[] out = raw.clone();
        int at = checksumAt(out);
        if (at >= 0) {
            CRC32C crc = new CRC32C();
            crc.update(out, at + 4, out.length - at - 4);
            ByteBuffer.wrap(out).putInt(at, (int) crc.getValue());
        }
        return out;
    }

    private static int checksumAt(byte[] raw) {
        ByteBuffer b = ByteBuffer.wrap(raw);
        long at = 0;
        if (raw.length >= 6 && b.getShort(0) == BROKER) {
            at = 6 + (b.getInt(2) & 0xffffffffL);
        }
        return at + 6 <= raw.length && b.getShort((int) at) == CHECKSUM ? (int) at + 2 : -1;
    }

    /** The first number in a field, or a default. */
    long number(int field, long absent) {
        int i = metadata.find(field);
        if (i < 0 || Fields.type(metadata.raw.get(i)) != Fields.VARINT) {
            return absent;
        }
        byte[] f = metadata.raw.get(i);
        return Fields.varint(f, Fields.varintLength(f, 0));
    }

    boolean has(int field) {
        return metadata.find(field) >= 0;
    }

    /** The messages of a batch that can be opened; null for anything else. */
    List<Message> messages() {
        if (!has(COUNT) || has(13) || has(29)) {
            return null;
        }
        long size = number(SIZE, 0);
        if (size < 0 || size > MAX_PLAIN) {
            return null;
        }
        byte[] plain = Codecs.decode((int) number(CODEC, 0), payload, (int) size);
        List<Message> out = new ArrayList<>();
        ByteBuffer b = ByteBuffer.wrap(plain);
        while (b.hasRemaining()) {
            Fields f = Fields.of(take(b, b.getInt()));
            byte[] bytes = f.raw.get(f.find(3));
            out.add(new Message(f, take(b, (int) Fields.varint(bytes, 1))));
        }
        return out;
    }

    private static byte[] take(ByteBuffer b, int n) {
        if (n < 0 || n > b.remaining()) {
            throw new IllegalArgumentException("no batch");
        }
        byte[] out = new byte[n];
        b.get(out);
        return out;
    }

    /** Writes the messages as the payload, each with the size in front of it. */
    static byte[] join(List<Message> messages) {
        int n = 0;
        List<byte[]> metas = new ArrayList<>();
        for (Message m : messages) {
            byte[] meta = m.meta.join();
            metas.add(meta);
            n += 4 + meta.length + m.body.length;
        }
        ByteBuffer b = ByteBuffer.allocate(n);
        for (int i = 0; i < metas.size(); i++) {
            b.putInt(metas.get(i).length).put(metas.get(i)).put(messages.get(i).body);
        }
        return b.array();
    }

    /** Packs a new payload with a codec and says so. */
    void pack(int codec, byte[] plain) {
        payload = Codecs.encode(codec, plain);
        if (codec == 0) {
            metadata.remove(CODEC);
            metadata.remove(SIZE);
            return;
        }
        metadata.set(Fields.number(CODEC, codec));
        metadata.set(Fields.number(SIZE, plain.length));
    }
}
