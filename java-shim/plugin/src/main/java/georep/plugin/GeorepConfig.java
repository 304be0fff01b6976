// SPDX-License-Identifier: Apache-2.0
package georep.plugin;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;

/**
 * The plugin's keys of broker.conf (all begin with {@code georep}). Immutable; a value that does not parse or is out of
 * its range is an error that names the key, and the plugin then starts nothing.
 */
public final class GeorepConfig {
    private static final long MIB = 1L << 20;

    private final Properties properties;
    private final Map<String, String> defaults = new TreeMap<>(); // of every key that is read

    private final long rebatchBytesPerSecond;
    private final long rebatchBurstBytes;
    private final int rebatchSlots;
    private final long inFlightBytes;
    private final long inFlightBytesPerRemote;
    private final boolean keepCodec;
    private final boolean placeEncryptedBatch;
    private final boolean parkedPass;
    private final int stallSeconds;
    private final int windowEntries;
    private final long windowBytes;
    private final int maxEntryBytes;
    private final int maxDecompressedBytes;
    private final int cutCapBytes;
    private final String segmentProfile;
    private final int dedupMaxKeys;
    private final int dedupSnapshotEntries;
    private final int sweepSeconds;
    private final int idleProducerSeconds;
    private final int retryMillis;
    private final int handshakeRetrySeconds;
    private final int threads;
    private final int nativeMaxProcs;
    private final int nativeGcPercent;
    private final long nativeMemoryLimitBytes;
    private final int maxMessagesPerBatch;
    private final boolean convergence;
    private final int antiEntropySeconds;
    private final int pushRetryMillis;
    private final int pushRetryMaxSeconds;
    private final int exchangeCallsPerSecond;
    private final boolean uninstall;
    private final List<String> requiredMembers;

    public GeorepConfig(Properties properties) {
        this.properties = properties;
        rebatchBytesPerSecond = number("georepSlowPathBytesPerSecond", 64 * MIB, 1, Long.MAX_VALUE);
        rebatchBurstBytes = number("georepSlowPathBurstBytes", rebatchBytesPerSecond, 1, Long.MAX_VALUE);
        rebatchSlots = (int) number("georepSlowPathConcurrency", 2, 1, 1024);
        inFlightBytes = number("georepInFlightBytes", 256 * MIB, MIB, Long.MAX_VALUE);
        inFlightBytesPerRemote = number("georepInFlightBytesPerRemote", 64 * MIB, MIB, Long.MAX_VALUE);
        keepCodec = choice("georepKeepCodec", "true", "true", "false").equals("true");
        placeEncryptedBatch = choice("georepEncryptedBatchPolicy", "park", "park", "place").equals("place");
        parkedPass = choice("georepParkedPolicy", "stop", "stop", "pass").equals("pass");
        stallSeconds = (int) number("georepStallSeconds", 60, 1, 86_400);
        windowEntries = (int) number("georepWindowEntries", 1000, 1, 1_000_000);
        windowBytes = number("georepWindowBytes", 32 * MIB, 1, Long.MAX_VALUE);
        maxEntryBytes = (int) number("georepMaxEntryBytes", 16 * MIB, 1024, 1024 * MIB);
        maxDecompressedBytes = (int) number("georepMaxDecompressedBytes", 128 * MIB, 1024, 2047 * MIB);
        cutCapBytes = (int) number("georepCutCapBytes", 4 * MIB, 1024, 1024 * MIB);
        segmentProfile = choice("georepSegmentProfile", "auto", "auto", "m1", "pip486");
        dedupMaxKeys = (int) number("georepDedupMaxKeys", 4096, 1, 10_000);
        dedupSnapshotEntries = (int) number("georepDedupSnapshotEntries", 1000, 1, 1_000_000);
        sweepSeconds = (int) number("georepSweepSeconds", 60, 1, 86_400);
        idleProducerSeconds = (int) number("georepIdleProducerSeconds", 60, 1, 86_400);
        retryMillis = (int) number("georepRetryMillis", 100, 1, 3_600_000);
        handshakeRetrySeconds = (int) number("georepHandshakeRetrySeconds", 120, 1, 86_400);
        threads = (int) number("georepThreads", Math.max(2, Runtime.getRuntime().availableProcessors()), 1, 1024);
        nativeMaxProcs = (int) number("georepNativeMaxProcs", Math.max(16, 4L * threads), 1, 4096);
        nativeGcPercent = (int) number("georepNativeGcPercent", 0, 0, 10_000);
        nativeMemoryLimitBytes = number("georepNativeMemoryLimitBytes", 0, 0, Long.MAX_VALUE);
        maxMessagesPerBatch = (int) number("georepMaxMessagesPerBatch", 100_000, 1, 10_000_000);
        convergence = choice("georepConvergence", "true", "true", "false").equals("true");
        antiEntropySeconds = (int) number("georepAntiEntropySeconds", 60, 1, 86_400);
        pushRetryMillis = (int) number("georepPushRetryMillis", 500, 1, 3_600_000);
        pushRetryMaxSeconds = (int) number("georepPushRetryMaxSeconds", 60, 1, 86_400);
        exchangeCallsPerSecond = (int) number("georepExchangeCallsPerSecond", 100, 1, 1_000_000);
        uninstall = choice("georepUninstall", "false", "true", "false").equals("true");
        requiredMembers = list("georepRequiredMembers");
        if (inFlightBytesPerRemote > inFlightBytes) {
            throw new IllegalArgumentException("georepInFlightBytesPerRemote=" + inFlightBytesPerRemote
                    + ": larger than georepInFlightBytes=" + inFlightBytes);
        }
    }

    /** Keys that begin with georep and mean nothing here, sorted: a misspelt limit is a missing limit. */
    public List<String> unknownKeys() {
        return properties.stringPropertyNames().stream().filter(k -> k.startsWith("georep") && !defaults.containsKey(k))
                .sorted().toList();
    }

    /** Every key and what stands for it where it is not set; README's table says the same. */
    Map<String, String> defaults() {
        return Map.copyOf(defaults);
    }

    /** First pause before a refused or failed step is tried again, milliseconds; it doubles up to 64 times. */
    public int retryMillis() {
        return retryMillis;
    }

    /** Longest pause between two handshakes with a remote that is not supported, seconds. */
    public int handshakeRetrySeconds() {
        return handshakeRetrySeconds;
    }

    /** Threads that run the core for this broker's replicators. */
    public int threads() {
        return threads;
    }

    /** Threads that may be inside the library at once; well above the threads that call it. */
    public int nativeMaxProcs() {
        return nativeMaxProcs;
    }

    /** Garbage collection target of the library, percent; 0 = its default. */
    public int nativeGcPercent() {
        return nativeGcPercent;
    }

    /** Soft limit of the library's heap, bytes; 0 = none. */
    public long nativeMemoryLimitBytes() {
        return nativeMemoryLimitBytes;
    }

    /** Most messages in one batch. */
    public int maxMessagesPerBatch() {
        return maxMessagesPerBatch;
    }

    /** Decompressed bytes that all topics of this broker together may re-batch per second. */
    public long rebatchBytesPerSecond() {
        return rebatchBytesPerSecond;
    }

    public long rebatchBurstBytes() {
        return rebatchBurstBytes;
    }

    /** Batches that may be decompressed at the same time. */
    public int rebatchSlots() {
        return rebatchSlots;
    }

    /** Bytes sent and not yet acknowledged, to all remotes together. */
    public long inFlightBytes() {
        return inFlightBytes;
    }

    public long inFlightBytesPerRemote() {
        return inFlightBytesPerRemote;
    }

    /** True: parts are compressed as their source entry was. */
    public boolean keepCodec() {
        return keepCodec;
    }

    public boolean placeEncryptedBatch() {
        return placeEncryptedBatch;
    }

    public boolean parkedPass() {
        return parkedPass;
    }

    public int stallSeconds() {
        return stallSeconds;
    }

    /** Entries that one segment's window may hold. */
    public int windowEntries() {
        return windowEntries;
    }

    public long windowBytes() {
        return windowBytes;
    }

    public int maxEntryBytes() {
        return maxEntryBytes;
    }

    public int maxDecompressedBytes() {
        return maxDecompressedBytes;
    }

    /** Recorded with every new segment: uncompressed bytes of one part. */
    public int cutCapBytes() {
        return cutCapBytes;
    }

    /** {@code auto}, {@code m1} or {@code pip486}: recorded with every segment that has no parent to inherit from. */
    public String segmentProfile() {
        return segmentProfile;
    }

    /** Streams (origin segment and generation) that one destination segment may know. */
    public int dedupMaxKeys() {
        return dedupMaxKeys;
    }

    /** Entries stored between two snapshots of the watermarks, hence read again at most when a segment is loaded. */
    public int dedupSnapshotEntries() {
        return dedupSnapshotEntries;
    }

    /** How often the elected broker looks for replicated topics without a controller. */
    public int sweepSeconds() {
        return sweepSeconds;
    }

    /** A producer to a remote segment that sent nothing for so long is closed. */
    public int idleProducerSeconds() {
        return idleProducerSeconds;
    }

    /** True: layouts of replicated topics follow those of the other clusters. */
    public boolean convergence() {
        return convergence;
    }

    /** A peer that knows everything is told again so often. */
    public int antiEntropySeconds() {
        return antiEntropySeconds;
    }

    /** First pause after a push of a layout that failed, milliseconds; it doubles. */
    public int pushRetryMillis() {
        return pushRetryMillis;
    }

    /** Longest pause between two pushes that fail. */
    public int pushRetryMaxSeconds() {
        return pushRetryMaxSeconds;
    }

    /** Calls with layouts that one broker of another cluster may make. */
    public int exchangeCallsPerSecond() {
        return exchangeCallsPerSecond;
    }

    /** The plugin only takes away what it left in the brokers' store: pins and enabled remotes. Replicates nothing. */
    public boolean uninstall() {
        return uninstall;
    }

    /** Further members ({@code class#member}) that the start-up check requires. */
    public List<String> requiredMembers() {
        return requiredMembers;
    }

    private String raw(String key, String def) {
        defaults.put(key, def);
        Object v = properties.get(key);
        return v == null || v.toString().isBlank() ? null : v.toString().trim();
    }

    private long number(String key, long def, long min, long max) {
        String v = raw(key, Long.toString(def));
        if (v == null) {
            return def;
        }
        long n;
        try {
            n = Long.parseLong(v);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(key + "=" + v + ": not a whole number", e);
        }
        if (n < min || n > max) {
            throw new IllegalArgumentException(key + "=" + v + ": must be " + min + ".." + max);
        }
        return n;
    }

    private String choice(String key, String def, String... allowed) {
        String v = raw(key, def);
        if (v == null) {
            return def;
        }
        String low = v.toLowerCase(Locale.ROOT);
        if (!Arrays.asList(allowed).contains(low)) {
            throw new IllegalArgumentException(key + "=" + v + ": must be one of " + String.join(", ", allowed));
        }
        return low;
    }

    private List<String> list(String key) {
        String v = raw(key, "");
        return v == null ? List.of() : Arrays.stream(v.split(",")).map(String::trim).filter(s -> !s.isEmpty()).toList();
    }
}
