// SPDX-License-Identifier: Apache-2.0
package georep.differential;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.pulsar.common.api.proto.CompressionType;

/** Looks into bytes for what Pulsar's classes do not show. */
final class Wire {
    private Wire() {}

    /** Whether the last codec in metadata without an oddity is one that Pulsar does not know. */
    static boolean unknownCodec(byte[] metadata) {
        int codec = 0;
        for (byte[] f : Fields.of(metadata).raw) {
            if (Fields.number(f) == RawEntry.CODEC && Fields.type(f) == Fields.VARINT) {
                codec = (int) Fields.varint(f, Fields.varintLength(f, 0));
            }
        }
        return CompressionType.valueOf(codec) == null;
    }

    /** The first oddity in the metadata of a batch's messages as the sizes in front of them delimit it, or null. */
    static Difference oddityInBatch(byte[] plain, int n) {
        ByteBuffer b = ByteBuffer.wrap(plain);
        for (int i = 0; i < n && b.remaining() >= 4; i++) {
            long size = b.getInt() & 0xffffffffL;
            if (size > b.remaining()) {
                return Difference.PAST_END;
            }
            byte[] meta = Arrays.copyOfRange(plain, b.position(), b.position() + (int) size);
            Difference d = Strict.oddity(meta, Strict.Shape.SINGLE);
            if (d != null) {
                return d;
            }
            int body = bodySize(meta);
            b.position(b.position() + (int) size);
            if (body < 0 || body > b.remaining()) {
                return null;
            }
            b.position(b.position() + body);
        }
        return null;
    }

    private static int bodySize(byte[] meta) {
        int size = -1;
        for (byte[] f : Fields.of(meta).raw) {
            if (Fields.number(f) == 3 && Fields.type(f) == Fields.VARINT) {
                size = (int) Fields.varint(f, Fields.varintLength(f, 0));
            }
        }
        return size;
    }
}
