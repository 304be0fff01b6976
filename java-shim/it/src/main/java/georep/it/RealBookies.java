// SPDX-License-Identifier: Apache-2.0
package georep.it;

import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import org.apache.bookkeeper.common.component.LifecycleComponentStack;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.apache.pulsar.metadata.bookkeeper.BKCluster;

/** Real bookies, small, with what they store below a folder. */
public final class RealBookies implements AutoCloseable {
    private final BKCluster cluster;

    public RealBookies(String metadataUrl, Path dir, int count) throws Exception {
        this(metadataUrl, dir, count, c -> { });
    }

    RealBookies(String metadataUrl, Path dir, int count, Consumer<ServerConfiguration> tweak) throws Exception {
        ServerConfiguration c = new ServerConfiguration();
        c.setAllowLoopback(true);
        c.setListeningInterface(null);
        c.setAdvertisedAddress("127.0.0.1");
        c.setJournalSyncData(false);
        c.setJournalWriteData(false);
        c.setDiskUsageThreshold(0.999f);
        c.setDiskUsageWarnThreshold(0.99f);
        tweak.accept(c);
        cluster = BKCluster.builder().baseServerConfiguration(c).metadataServiceUri(metadataUrl).numBookies(count)
                .dataDir(dir.resolve("bookie").toString()).clearOldData(true).build();
    }

    /** Closes the ports and the storage of one bookie. */
    public void kill(int index) {
        try {
            var f = BKCluster.class.getDeclaredField("bookieComponents");
            f.setAccessible(true);
            ((LifecycleComponentStack) ((List<?>) f.get(cluster)).get(index)).close();
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() throws Exception {
        cluster.close();
    }
}
