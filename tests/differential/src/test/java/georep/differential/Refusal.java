// SPDX-License-Identifier: Apache-2.0
package georep.differential;

import java.util.Arrays;
import org.apache.pulsar.common.api.proto.CompressionType;

/** Finds the reason for which one side opens a batch that the other refuses. Reasons are looked for in the bytes. */
final class Refusal {
    private Refusal() {}

    /** The reason that the core's text begins with. */
    private static String reason(String text) {
        String[] words = text.split(": ", 4); // "georep: format: size-mismatch: …"
        return words.length > 2 ? words[2] : text;
    }

    /**
     * Whether both refused for what is behind the decompression: then they agree. A refusal of the payload itself is
     * looked at even where Java stumbled later, because what it read then was not written by anybody.
     */
    static boolean notByPayload(Reading java, String text) {
        return java.stage() == Reading.Stage.PAYLOAD && !java.cause().contains("not asked")
                || reason(text).equals("malformed");
    }

    /** Why the core refuses a batch whose payload Java decompressed. */
    static Difference of(Reading java, String text) {
        String reason = reason(text);
        return switch (reason) {
            case "codec", "size-mismatch", "too-large" -> payload(java, text);
            case "malformed" -> messages(java, text);
            default -> throw new AssertionError("refused: " + text);
        };
    }

    private static Difference payload(Reading java, String text) {
        int size = java.metadata().getUncompressedSize();
        if (java.metadata().hasUncompressedSize() && (size > JavaReader.MAX_DECOMPRESSED || size < 0)) {
            return Difference.OVER_THE_CAP;
        }
        if (Wire.unknownCodec(java.metadataBytes())) {
            return Difference.UNKNOWN_CODEC;
        }
        int codec = java.codec();
        if (codec == CompressionType.NONE_VALUE) {
            check(java.metadata().hasUncompressedSize() && size != java.payload().length, text);
            return Difference.NONE_DECLARED_SIZE;
        }
        if (!java.metadata().hasUncompressedSize()) {
            return Difference.NO_DECLARED_SIZE;
        }
        if (codec == CompressionType.ZLIB_VALUE) {
            Codecs.End end = Codecs.zlibEnd(java.payload(), size);
            if (end == Codecs.End.OPEN) {
                check(!Arrays.equals(Codecs.encode(codec, java.plain()), java.payload()), text);
                return Difference.ZLIB_END;
            }
            check(end == Codecs.End.MORE || end == Codecs.End.BAD, text);
            return end == Codecs.End.MORE ? Difference.DECLARED_SIZE : Difference.ZLIB_END;
        }
        int real = Codecs.decodedLength(codec, java.payload(), size);
        if (codec == CompressionType.ZSTD_VALUE && real == size && Codecs.referenceRefuses(java.payload(), size)) {
            return Difference.ZSTD_REFERENCE;
        }
        if (codec == CompressionType.LZ4_VALUE && real == size && (Codecs.lz4LastToken(java.payload()) & 15) != 0) {
            return Difference.LZ4_LAST_TOKEN;
        }
        check(real != size, "decodes to the declared size in Java: " + text);
        return Difference.DECLARED_SIZE;
    }

    private static Difference messages(Reading java, String text) {
        int n = java.metadata().getNumMessagesInBatch();
        if (n <= 0) {
            return Difference.COUNT_NOT_POSITIVE;
        }
        long declared = java.metadata().hasUncompressedSize() ? java.metadata().getUncompressedSize() & 0xffffffffL
                : java.payload().length;
        if (text.contains("what can not be")) {
            check(n > declared / 6, "a plausible count: " + text);
            return Difference.COUNT_IMPLAUSIBLE;
        }
        Difference oddity = Wire.oddityInBatch(java.plain(), n);
        if (oddity != null) {
            return oddity;
        }
        check(java.left() > 0, text);
        return Difference.BYTES_LEFT_OVER;
    }

    private static void check(boolean holds, String text) {
        if (!holds) {
            throw new AssertionError("no reason found for: " + text);
        }
    }
}
