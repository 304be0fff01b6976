// SPDX-License-Identifier: Apache-2.0
package georep.differential;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdException;
import io.airlift.compress.lz4.Lz4Decompressor;
import io.airlift.compress.snappy.SnappyDecompressor;
import io.airlift.compress.zstd.ZstdDecompressor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;
import org.apache.pulsar.common.api.proto.CompressionType;
import org.apache.pulsar.common.compression.CompressionCodecProvider;

/** Pulsar's codecs, and what they do not tell: how many bytes really came out. */
final class Codecs {
    /** What a stream was, beyond the bytes that were asked for. */
    enum End { COMPLETE, OPEN, MORE, BAD }

    private Codecs() {}

    static byte[] decode(int codec, byte[] packed, int size) {
        ByteBuf in = Unpooled.directBuffer(packed.length).writeBytes(packed);
        try {
            ByteBuf out = CompressionCodecProvider.getCompressionCodec(CompressionType.valueOf(codec)).decode(in, size);
            byte[] b = new byte[out.readableBytes()];
            out.readBytes(b);
            out.release();
            return b;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            in.release();
        }
    }

    static byte[] encode(int codec, byte[] plain) {
        ByteBuf in = Unpooled.directBuffer(plain.length).writeBytes(plain);
        ByteBuf out = CompressionCodecProvider.getCompressionCodec(CompressionType.valueOf(codec)).encode(in);
        byte[] b = new byte[out.readableBytes()];
        out.readBytes(b);
        out.release();
        in.release();
        return b;
    }

    /** Bytes that a block really decodes to, given room for size of them; -1 where it does not decode. */
    static int decodedLength(int codec, byte[] packed, int size) {
        byte[] out = new byte[size];
        try {
            return switch (codec) {
                case CompressionType.LZ4_VALUE ->
                        new Lz4Decompressor().decompress(packed, 0, packed.length, out, 0, size);
                case CompressionType.ZSTD_VALUE ->
                        new ZstdDecompressor().decompress(packed, 0, packed.length, out, 0, size);
                case CompressionType.SNAPPY_VALUE ->
                        new SnappyDecompressor().decompress(packed, 0, packed.length, out, 0, size);
                default -> throw new IllegalArgumentException("codec " + codec);
            };
        } catch (RuntimeException refused) {
            return -1;
        }
    }

    /** The token of the last sequence of a block, which has no match: its low half should be 0. */
    static int lz4LastToken(byte[] b) {
        for (int at = 0;;) {
            int token = b[at++] & 0xff;
            int literals = token >> 4;
            if (literals == 15) {
                do {
                    literals += b[at] & 0xff;
                } while (b[at++] == -1);
            }
            at += literals;
            if (at >= b.length) {
                return token;
            }
            at += 2;
            if ((token & 15) == 15) {
                while (b[at++] == -1) { // a length of 255 goes on
                    continue;
                }
            }
        }
    }

    /** Whether zstd's own decoder refuses what Pulsar's accepts. */
    static boolean referenceRefuses(byte[] packed, int size) {
        try {
            return Zstd.decompress(packed, size).length != size;
        } catch (ZstdException refused) {
            return true;
        }
    }

    /** Whether a zlib stream gives its size bytes and then breaks. */
    static boolean zlibTailBroken(byte[] packed, int size) {
        Inflater z = new Inflater();
        try {
            z.setInput(packed);
            z.inflate(new byte[size]);
            return false;
        } catch (DataFormatException e) {
            return z.getBytesWritten() == size;
        } finally {
            z.end();
        }
    }

    /** What follows the first size bytes of a zlib stream. */
    static End zlibEnd(byte[] packed, int size) {
        Inflater z = new Inflater();
        try {
            z.setInput(packed);
            byte[] out = new byte[size + 1];
            int n = z.inflate(out);
            while (n <= size && !z.finished() && !z.needsInput() && !z.needsDictionary()) {
                n += z.inflate(out, n, out.length - n);
            }
            if (n > size) {
                return End.MORE;
            }
            if (z.finished()) {
                return z.getRemaining() == 0 ? End.COMPLETE : End.BAD;
            }
            return End.OPEN;
        } catch (DataFormatException e) {
            return End.BAD;
        } finally {
            z.end();
        }
    }
}
