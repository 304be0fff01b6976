// SPDX-License-Identifier: Apache-2.0
package georep.bench.micro;

import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.pulsar.common.api.proto.CompressionType;

/**
 * One entry and both ways to cut it; made once in a JVM, and only if both make the same of it: per segment the same
 * messages in the same order, the same counts, numbers and positions.
 */
final class RebatchCell {
    private static final Map<String, RebatchCell> CELLS = new ConcurrentHashMap<>();
    private static final int SEED = 20_261_130;

    final ByteBuf entry;
    final Cutter ours = new NativeCutter();
    final Cutter peer = new PulsarCutter();
    final long oursOutBytes;
    final long peerOutBytes;

    private RebatchCell(String name) {
        String[] parts = name.split("/");
        entry = PublishedEntry.batch(Shape.of(parts[0]), CompressionType.valueOf(parts[1].toUpperCase(Locale.ROOT)),
                parts[2], SEED);
        List<SentEntry> a = parts(ours);
        List<SentEntry> b = parts(peer);
        if (a.size() != Topology.SEGMENTS || a.size() != b.size()) {
            throw new IllegalStateException(name + ": " + a.size() + " parts, the peer has " + b.size());
        }
        for (int i = 0; i < a.size(); i++) {
            compare(name, a.get(i), b.get(i));
        }
        oursOutBytes = a.stream().mapToLong(e -> e.payload().readableBytes()).sum();
        peerOutBytes = b.stream().mapToLong(e -> e.payload().readableBytes()).sum();
    }

    private List<SentEntry> parts(Cutter cutter) {
        List<SentEntry> parts = new ArrayList<>();
        cutter.cut(entry, 1, (segment, wire) -> parts.add(SentEntry.read(segment, wire, true)));
        return parts;
    }

    private static void compare(String name, SentEntry a, SentEntry b) {
        if (a.segment() != b.segment() || !a.messages().equals(b.messages())) {
            throw new IllegalStateException(name + ": segment " + a.segment() + " gets other messages");
        }
        if (!a.headMetadata().equals(b.headMetadata())) {
            throw new IllegalStateException(name + ": " + a.headMetadata() + ", the peer has " + b.headMetadata());
        }
    }

    /** From "1000x1KiB/lz4/json". */
    static RebatchCell of(String name) {
        return CELLS.computeIfAbsent(name, RebatchCell::new);
    }
}
