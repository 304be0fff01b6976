// SPDX-License-Identifier: Apache-2.0
package georep.bench.e2e;

import java.util.List;
import org.apache.pulsar.broker.service.persistent.PersistentTopic;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.protocol.Commands;

/** Reads logs whose entries should be those of A, one for one, payloads untouched. */
final class Payloads {
    private Payloads() {
    }

    static void verify(List<PersistentTopic> segments, Entries entries, long batches, String origin) throws Exception {
        for (int s = 0; s < segments.size(); s++) {
            String name = segments.get(s).getName();
            int segment = s;
            long[] n = {0};
            LogReader.read(segments.get(s).getManagedLedger(), e -> {
                MessageMetadata m = Commands.parseMessageMetadata(e);
                if (m.getNumMessagesInBatch() != Corpus.BATCH || !m.getReplicatedFrom().equals(origin)
                        || Corpus.crc(e) != entries.payloadCrc(segment, n[0])) {
                    throw new IllegalStateException(name + ": entry " + n[0] + " is not A's: "
                            + m.getNumMessagesInBatch() + " messages from " + m.getReplicatedFrom());
                }
                n[0]++;
            });
            if (n[0] != batches) {
                throw new IllegalStateException(name + " has " + n[0] + " entries, A has " + batches);
            }
        }
    }
}
