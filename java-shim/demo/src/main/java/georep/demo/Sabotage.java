// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import org.apache.pulsar.common.api.proto.KeyValue;
import org.apache.pulsar.common.protocol.Commands;

/** Spoils one replicated entry of a log, so that a test sees the verdict notice it. */
final class Sabotage {
    /** What happens to the entry; SWAP: the next one of its stream with one of its keys changes places with it. */
    enum Kind { NONE, REMOVE, SWAP, REPEAT }

    private static final String ORIGIN = "__GEOREP_ORIGIN";
    private static final int STREAM_FIELDS = 5; // version, cluster, instance, segment, generation

    private Sabotage() {
    }

    /** A copy of a log with the middle one of the entries that can be spoilt so; the entries themselves are shared. */
    static List<byte[]> spoil(Kind kind, List<byte[]> log) throws Exception {
        List<Integer> at = new ArrayList<>();
        for (int i = 0; i < log.size(); i++) {
            if (stream(log.get(i)) != null && (kind != Kind.SWAP || successor(log, i) > 0)) {
                at.add(i);
            }
        }
        if (at.isEmpty()) {
            throw new IllegalStateException("nothing to " + kind + " among " + log.size() + " entries");
        }
        int i = at.get(at.size() / 2);
        List<byte[]> spoilt = new ArrayList<>(log);
        switch (kind) {
            case REMOVE -> spoilt.remove(i);
            case SWAP -> {
                int j = successor(log, i);
                spoilt.set(i, log.get(j));
                spoilt.set(j, log.get(i));
            }
            case REPEAT -> spoilt.add(i, log.get(i));
            default -> throw new IllegalArgumentException(kind.name());
        }
        return spoilt;
    }

    /** The next entry of the stream if order can be told between the two; 0 if not. */
    private static int successor(List<byte[]> log, int i) throws Exception {
        String stream = stream(log.get(i));
        for (int j = i + 1; j < log.size(); j++) {
            if (stream.equals(stream(log.get(j)))) {
                return messages(log.get(i)).sharesKey(messages(log.get(j))) ? j : 0;
            }
        }
        return 0;
    }

    /** Which stream an entry came by; null if it was published here. */
    private static String stream(byte[] entry) {
        ByteBuf b = Unpooled.wrappedBuffer(entry);
        for (KeyValue p : Commands.parseMessageMetadata(b).getPropertiesList()) {
            if (p.getKey().equals(ORIGIN)) {
                String[] fields = p.getValue().split("\\|");
                return String.join("|", List.of(fields).subList(0, STREAM_FIELDS));
            }
        }
        return null;
    }

    private static Sequences messages(byte[] entry) throws Exception {
        Sequences s = new Sequences();
        StoredMessages.entry(Unpooled.wrappedBuffer(entry), s);
        return s;
    }
}
