// SPDX-License-Identifier: Apache-2.0
package georep.it;

import org.apache.pulsar.broker.service.ServerCnx;

/** Breaks connections as a network does. */
final class SourceConnections {
    private SourceConnections() {
    }

    /** Cuts every connection with a replication producer at a destination; returns how many. */
    static int cut(Cluster destination) {
        java.util.Set<ServerCnx> all = new java.util.HashSet<>();
        destination.broker.getBrokerService().getTopics().values().forEach(f -> f.thenAccept(t -> t.ifPresent(topic ->
                topic.getProducers().forEach((name, producer) -> {
                    if (name.startsWith("pulsar.repl.")) {
                        all.add((ServerCnx) producer.getCnx());
                    }
                }))));
        all.forEach(c -> c.ctx().close());
        return all.size();
    }
}
