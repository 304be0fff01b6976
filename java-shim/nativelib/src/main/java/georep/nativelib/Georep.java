// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** The library as a whole: version and process-wide options. */
public final class Georep {
    /** Part number of an entry that was sent whole. */
    public static final long WHOLE = Long.MAX_VALUE;
    /** Flag of an offered entry: past its TTL. */
    public static final int EXPIRED = 1;
    /** Flag of an offered entry: belongs to an aborted transaction. */
    public static final int TXN_ABORTED = 2;
    /** Form of bytes: a MessageMetadata. */
    public static final int FORM_METADATA = 0;
    /** Form of bytes: a whole entry, with or without broker metadata and checksum. */
    public static final int FORM_ENTRY = 1;

    private Georep() {}

    /**
     * Process-wide options; 0 takes the default of georep.h.
     *
     * @param maxProcs threads that may run inside the library at once
     * @param gcPercent Go's GOGC
     * @param hashTagMin MessageMetadata field number of entry_hash_min
     * @param hashTagMax MessageMetadata field number of entry_hash_max
     * @param maxMessages messages in one batch
     * @param memoryLimit soft limit of the Go heap in bytes
     * @param maxEntryBytes one entry as stored
     * @param maxDecompressedBytes one batch decompressed
     */
    public record Options(int maxProcs, int gcPercent, int hashTagMin, int hashTagMax, int maxMessages,
                          long memoryLimit, long maxEntryBytes, long maxDecompressedBytes) {
        /** All defaults. */
        public static Options defaults() {
            return new Options(0, 0, 0, 0, 0, 0, 0, 0);
        }
    }

    /** Loads the library if need be and sets the options; before anything else of this package is used. */
    public static void init(Options o) {
        ByteBuffer b = Scratch.direct(48);
        b.putInt(0, 48).putInt(4, o.maxProcs).putInt(8, o.gcPercent).putInt(12, o.hashTagMin).putInt(16, o.hashTagMax)
                .putInt(20, o.maxMessages).putLong(24, o.memoryLimit).putLong(32, o.maxEntryBytes)
                .putLong(40, o.maxDecompressedBytes);
        Scratch s = Scratch.local();
        s.throwUnlessOk(Native.init(Native.address(b), s.err));
        Reference.reachabilityFence(b);
    }

    /** Version of the library, as in 0.1.0. */
    public static String version() {
        Scratch s = Scratch.local();
        byte[] b = s.bytes(64, (out, cap, len, err) -> Native.version(out, cap, len));
        return new String(b, StandardCharsets.UTF_8);
    }

    /** ABI version: major in the high half, minor in the low half. */
    public static int abiVersion() {
        return Native.abiVersion();
    }

    /** The path or resource that the library was loaded from. */
    public static String loadedFrom() {
        Native.abiVersion();
        return NativeLoader.loadedFrom();
    }

    /** Address of the first byte of a direct buffer (whatever its position), for the calls that take addresses. */
    public static long address(ByteBuffer direct) {
        long a = Native.address(direct);
        if (a == 0) {
            throw new IllegalArgumentException("not a direct buffer");
        }
        return a;
    }

    /** Direct view of native memory that the caller keeps alive while the view is used. */
    public static ByteBuffer view(long address, int len) {
        return Native.view(address, len);
    }

    /** Raw Murmur3_32 of a key's text, unsigned. */
    public static long keyHash(byte[] key) {
        Scratch s = Scratch.local();
        s.throwUnlessOk(Scratch.with(key, (k, n) -> Native.keyHash(k, n, Peer.PROFILE_PIP486, s.at(0), 0, 0, s.err)));
        return s.getInt(0) & 0xffffffffL;
    }
}
