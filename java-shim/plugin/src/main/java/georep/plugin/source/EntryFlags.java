// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import io.netty.buffer.ByteBuf;
import org.apache.pulsar.client.api.transaction.TxnID;

/**
 * The few metadata fields that a broker needs for what only it knows: publish time (expired by its TTL?), transaction
 * id (aborted?) and number of messages (dispatch rate). Walks the protobuf fields of one entry without allocating; on
 * anything it does not understand it stops and says "nothing known": the core judges the entry. Reused, not
 * thread-safe.
 *
 * <pre>
 *   [0x0e02 | u32 n | broker metadata n]? [0x0e01 | u32 crc]? [u32 m | metadata m] [payload]
 * </pre>
 */
public final class EntryFlags {
    private static final int MAGIC_BROKER = 0x0e02;
    private static final int MAGIC_CHECKSUM = 0x0e01;
    private static final int PUBLISH_TIME = 3;
    private static final int MESSAGES = 11;
    private static final int TXN_LEAST = 22;
    private static final int TXN_MOST = 23;

    private long publishTime;
    private int messages;
    private long txnLeast;
    private long txnMost;
    private int seen;
    private int at;
    private int end;

    /** Reads an entry; its reader index is left alone. False: not understood, nothing known. */
    public boolean read(ByteBuf b) {
        publishTime = 0;
        messages = 1;
        seen = 0;
        at = b.readerIndex();
        end = b.writerIndex();
        try {
            if (end - at >= 6 && b.getUnsignedShort(at) == MAGIC_BROKER) {
                at += 6 + b.getInt(at + 2);
            }
            if (at >= 0 && end - at >= 6 && b.getUnsignedShort(at) == MAGIC_CHECKSUM) {
                at += 6;
            }
            if (at < 0 || end - at < 4) {
                return false;
            }
            int size = b.getInt(at);
            at += 4;
            if (size < 0 || size > end - at) {
                return false;
            }
            end = at + size;
            return walk(b);
        } catch (IndexOutOfBoundsException e) {
            return false;
        }
    }

    private boolean walk(ByteBuf b) {
        while (at < end) {
            long tag = varint(b);
            int field = (int) (tag >>> 3);
            switch ((int) (tag & 7)) {
                case 0 -> keep(field, varint(b));
                case 1 -> at += 8;
                case 2 -> {
                    long n = varint(b);
                    if (n < 0 || n > end - at) {
                        return false;
                    }
                    at += (int) n;
                }
                case 5 -> at += 4;
                default -> {
                    return false;
                }
            }
        }
        return at == end;
    }

    private void keep(int field, long value) {
        switch (field) {
            case PUBLISH_TIME -> publishTime = value;
            case MESSAGES -> messages = (int) Math.max(1, Math.min(value, Integer.MAX_VALUE));
            case TXN_LEAST -> {
                txnLeast = value;
                seen |= 1;
            }
            case TXN_MOST -> {
                txnMost = value;
                seen |= 2;
            }
            default -> { }
        }
    }

    private long varint(ByteBuf b) {
        long v = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            if (at >= end) {
                throw new IndexOutOfBoundsException();
            }
            byte x = b.getByte(at++);
            v |= (long) (x & 0x7f) << shift;
            if (x >= 0) {
                return v;
            }
        }
        throw new IndexOutOfBoundsException();
    }

    /** Milliseconds since 1970; 0 = not known. */
    public long publishTime() {
        return publishTime;
    }

    /** Messages in the entry; 1 where it is no batch, or not known. */
    public int messages() {
        return messages;
    }

    /** The transaction that the entry belongs to, or null. */
    public TxnID transaction() {
        return seen == 3 ? new TxnID(txnMost, txnLeast) : null;
    }
}
