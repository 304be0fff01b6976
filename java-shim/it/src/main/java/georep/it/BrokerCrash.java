// SPDX-License-Identifier: Apache-2.0
package georep.it;

import io.netty.channel.Channel;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.broker.service.BrokerService;
import org.apache.pulsar.metadata.api.GetResult;
import org.apache.pulsar.metadata.api.MetadataStore;

/**
 * Ends a broker without any of its farewells: its metadata session is gone first, so nothing that it still does reaches
 * the store; then its connections; then its ephemeral nodes, as the store does when a session expires. Its topics are
 * not closed, its cursors and snapshots not flushed; its threads idle on until the JVM ends.
 */
final class BrokerCrash {
    private BrokerCrash() {
    }

    static void of(PulsarService broker, MetadataStore store) throws Exception {
        String id = broker.getBrokerId();
        String port = ":" + broker.getBrokerService().getListenPort().orElseThrow();
        broker.getLocalMetadataStore().close();
        if (broker.getConfigurationMetadataStore() != broker.getLocalMetadataStore()) {
            broker.getConfigurationMetadataStore().close();
        }
        Field listening = BrokerService.class.getDeclaredField("listenChannels");
        listening.setAccessible(true);
        for (Object c : (List<?>) listening.get(broker.getBrokerService())) {
            ((Channel) c).close().sync();
        }
        // every connection, those that its own clients hold to others too
        broker.getIoEventLoopGroup().shutdownGracefully(0, 0, TimeUnit.SECONDS).sync();
        broker.getWebService().close();
        dropEphemeral(store, "/", id, port);
    }

    private static void dropEphemeral(MetadataStore store, String path, String id, String port) throws Exception {
        for (String child : store.getChildren(path).get()) {
            String full = path.equals("/") ? "/" + child : path + "/" + child;
            dropEphemeral(store, full, id, port);
            GetResult r = store.get(full).get().orElse(null);
            if (r != null && r.getStat().isEphemeral()) {
                String value = full + new String(r.getValue(), StandardCharsets.UTF_8);
                if (value.contains(id) || value.contains(port)) {
                    store.delete(full, java.util.Optional.empty()).get();
                }
            }
        }
    }
}
