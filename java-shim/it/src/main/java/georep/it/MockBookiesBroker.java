// SPDX-License-Identifier: Apache-2.0
package georep.it;

import io.netty.channel.EventLoopGroup;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.apache.bookkeeper.client.BookKeeper;
import org.apache.bookkeeper.client.EnsemblePlacementPolicy;
import org.apache.bookkeeper.client.PulsarMockBookKeeper;
import org.apache.bookkeeper.stats.StatsLogger;
import org.apache.pulsar.broker.BookKeeperClientFactory;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.metadata.api.extended.MetadataStoreExtended;

/** A broker over bookies in memory, which outlive it. */
final class MockBookiesBroker extends PulsarService {
    private final PulsarMockBookKeeper bookies;

    MockBookiesBroker(ServiceConfiguration c, PulsarMockBookKeeper bookies) {
        super(c);
        this.bookies = bookies;
    }

    @Override
    public BookKeeperClientFactory newBookKeeperClientFactory() {
        return new BookKeeperClientFactory() {
            @Override
            public CompletableFuture<BookKeeper> create(ServiceConfiguration c, MetadataStoreExtended s,
                                                        EventLoopGroup g,
                                                        Optional<Class<? extends EnsemblePlacementPolicy>> p,
                                                        Map<String, Object> properties) {
                return CompletableFuture.completedFuture(bookies);
            }

            @Override
            public CompletableFuture<BookKeeper> create(ServiceConfiguration c, MetadataStoreExtended s,
                                                        EventLoopGroup g,
                                                        Optional<Class<? extends EnsemblePlacementPolicy>> p,
                                                        Map<String, Object> properties, StatsLogger l) {
                return CompletableFuture.completedFuture(bookies);
            }

            @Override
            public void close() {
                // shared
            }
        };
    }
}
