// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.apache.bookkeeper.mledger.proto.ManagedLedgerInfo.LedgerInfo;
import org.junit.jupiter.api.Test;

/** The tests' tiered storage is one: what bookkeeper does not have any more comes back from it, byte by byte. */
class FileOffloaderTest {
    @Test
    void aLedgerOutlivesItsCopyInBookkeeper() throws Exception {
        FileOffloader tier = new FileOffloader(Dirs.fresh().resolve("tier"));
        try (Cluster a = ClusterSpec.named("cluster-a").realBookies().ledgers(5).offloader(tier).start(Dirs.fresh())) {
            Federation.introduce(a);
            Federation.create("t/ns", a);
            String topic = "topic://t/ns/offloaded";
            Federation.topic(topic, 1, a);
            OffloadedLog log = OffloadedLog.of(a, topic, 0);
            log.publish(17);
            List<byte[]> before = payloads(a, log.segment());
            List<LedgerInfo> closed = log.closed();
            assertThat(closed).hasSize(3);

            log.offload(2);
            log.deleteFromBookies();

            assertThat(tier.ledgers()).isEqualTo(2);
            assertThat(log.inBookies(closed.get(0).getLedgerId())).isFalse();
            assertThat(log.inBookies(closed.get(1).getLedgerId())).isFalse();
            assertThat(log.inBookies(closed.get(2).getLedgerId())).isTrue();
            a.move("t/ns", a.broker);
            assertThat(payloads(a, log.segment())).usingElementComparator(java.util.Arrays::compare)
                    .containsExactlyElementsOf(before);
            assertThat(tier.reads()).as("entries from the folder").isEqualTo(10);
        }
    }

    private static List<byte[]> payloads(Cluster c, String segment) throws Exception {
        return SegmentLog.read(c, segment).stream().map(StoredEntry::payload).toList();
    }
}
