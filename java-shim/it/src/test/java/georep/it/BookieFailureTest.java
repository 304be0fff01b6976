// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.active;
import static georep.it.SourcePair.assertCopied;
import static georep.it.SourcePair.id;
import static org.assertj.core.api.Assertions.assertThat;

import georep.it.SourcePair.Rise;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.bookkeeper.net.BookieId;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Three bookies on each side, two copies of everything; one bookie dies under load. */
@Tag("slow")
@Timeout(value = 240, unit = TimeUnit.SECONDS)
class BookieFailureTest {
    private SourcePair p;

    @BeforeEach
    void start() throws Exception {
        p = SourcePair.apart(true, s -> s.zookeeper().realBookies(3, 2).with(c -> {
            c.setManagedLedgerDefaultAckQuorum(2);
            c.setManagedLedgerCacheSizeMB(0); // what is replicated is read from bookies
        }));
    }

    @AfterEach
    void stop() throws Exception {
        p.close();
    }

    /** The bookies of the ledger that a segment writes to now; once more for every change. */
    private static List<List<BookieId>> ensembles(Cluster c, String segment) throws Exception {
        long ledger = c.segment(segment).getManagedLedger().getLedgersInfo().lastKey();
        return List.copyOf(c.broker.getBookKeeperClient().getLedgerManager().readLedgerMetadata(ledger)
                .get(20, TimeUnit.SECONDS).getValue().getAllEnsembles().values());
    }

    @Test
    void atTheSource() throws Exception {
        kill(p.a, "source");
    }

    @Test
    void atTheDestination() throws Exception {
        kill(p.b, "destination");
    }

    private void kill(Cluster where, String name) throws Exception {
        String t = p.topic(name, 2, 3);
        Rise r = new Rise(p.a, p.b, "parts", "verbatim", "single");
        try (Traffic x = Traffic.start(p.a, t, 50, 0, 1000)) {
            x.more(2000);
            String segment = active(where, t, 0);
            BookieId dies = ensembles(where, segment).get(0).get(0);
            where.killBookie(Integer.parseInt(dies.toString().split("-")[1])); // bk-INDEX-hash
            x.more(5000);
            List<List<BookieId>> after = ensembles(where, segment);
            assertThat(after.get(after.size() - 1)).as("another bookie took over, %s", after).doesNotContain(dies);
            p.a.admin().scalableTopics().splitSegment(t, id(active(p.a, t, 0)));
            p.b.admin().scalableTopics().splitSegment(t, id(active(p.b, t, 0)));
            x.more(3000);
            x.finish();
        }
        assertCopied(p.a, p.b, t);
        assertThat(r.of("parts")).isPositive();
    }
}
