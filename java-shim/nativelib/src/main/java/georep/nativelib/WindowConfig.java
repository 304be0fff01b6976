// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

/** Configuration of one {@link Window}; see georep.v1.WindowConfig. Limits of 0 take the library's defaults. */
public final class WindowConfig {
    private final Wire wire = new Wire();

    /** The two clusters' names. */
    public WindowConfig clusters(String local, String remote) {
        wire.string(1, local).string(2, remote);
        return this;
    }

    /**
     * The source segment.
     *
     * @param profile {@link Peer#PROFILE_M1} or {@link Peer#PROFILE_PIP486}
     */
    public WindowConfig segment(long id, int rangeStart, int rangeEnd, int profile, boolean legacy) {
        wire.varint(3, id).bytes(4, new Wire().varint(1, rangeStart).varint(2, rangeEnd).bytes()).varint(5, profile)
                .bool(6, legacy);
        return this;
    }

    /** topic://tenant/namespace/name, its instance id and the generation of this replication. */
    public WindowConfig topic(String topic, String instance, long generation) {
        wire.string(7, topic).string(8, instance).varint(9, generation);
        return this;
    }

    /** encryptedBatchPolicy=place, parkedPolicy=pass, and whether parts keep the entry's codec. */
    public WindowConfig policies(boolean placeEncryptedBatch, boolean parkedPass, boolean keepCodec) {
        wire.bool(10, placeEncryptedBatch).bool(11, parkedPass).bool(12, keepCodec);
        return this;
    }

    /** Caps of one entry: bytes as stored, bytes decompressed, messages. */
    public WindowConfig entryLimits(int maxEntryBytes, int maxDecompressedBytes, int maxMessages) {
        wire.varint(13, maxEntryBytes).varint(14, maxDecompressedBytes).varint(15, maxMessages);
        return this;
    }

    /** Caps of the window: entries and bytes held, chunked messages open. */
    public WindowConfig windowLimits(int maxEntries, long maxBytes, int maxOpenUnits) {
        wire.varint(16, maxEntries).varint(17, maxBytes).varint(18, maxOpenUnits);
        return this;
    }

    /** First back-off after a failure. */
    public WindowConfig retryMillis(long millis) {
        wire.varint(19, millis);
        return this;
    }

    /** Longest wait for the next chunk of a message before what is there is parked. */
    public WindowConfig maxUnitMillis(long millis) {
        wire.varint(20, millis);
        return this;
    }

    /** End of the log when this owner began: what lies beyond was certainly not sent by an earlier one. */
    public WindowConfig sentBefore(long ledger, long entry) {
        wire.bytes(21, new Wire().varint(1, ledger).varint(2, entry).bytes());
        return this;
    }

    /** The bytes of the georep.v1.WindowConfig. */
    public byte[] toProto() {
        return wire.bytes();
    }
}
