// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.broker.service.schema.SchemaRegistryService;
import org.apache.pulsar.client.impl.PulsarClientImpl;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.protocol.Commands;
import org.apache.pulsar.common.schema.SchemaInfo;

/**
 * Translates this cluster's schema versions into the remote's, registering a schema there when it is new. All segments
 * of a topic share its schemas, so one translation serves all. Failures are not kept. Thread-safe.
 */
final class SchemaMapper {
    private final PulsarService pulsar;
    private final PulsarClientImpl client;
    private final Map<String, CompletableFuture<byte[]>> known = new ConcurrentHashMap<>();
    private volatile SchemaInfo last;

    SchemaMapper(PulsarService pulsar, PulsarClientImpl client) {
        this.pulsar = pulsar;
        this.client = client;
    }

    /** The remote's topic was made again: its versions start anew. */
    void forget() {
        known.clear();
        last = null;
    }

    /**
     * A remote that enforces validation refuses a session without a schema, also one for entries that have none: then
     * its own latest is announced. Does nothing where an entry's schema is known.
     */
    CompletableFuture<Void> learn(String remoteSegment) {
        if (last != null) {
            return CompletableFuture.completedFuture(null);
        }
        return client.getConnection(remoteSegment).thenCompose(cnx -> {
            long request = client.newRequestId();
            return cnx.sendGetSchema(Commands.newGetSchema(request, remoteSegment, Optional.empty()), request);
        }).thenAccept(found -> found.ifPresent(info -> {
            if (last == null) {
                last = info;
            }
        }));
    }

    /** The schema that was translated last: what a new producer announces to a remote that enforces validation. */
    SchemaInfo announced() {
        return last;
    }

    /**
     * The remote's version of a local schema version.
     *
     * @param localSegment  the segment topic that holds the entry
     * @param remoteSegment any active segment of the topic in the remote cluster
     * @param producerName  a replication producer's name: the remote's policy for replicators applies
     */
    CompletableFuture<byte[]> map(byte[] version, String localSegment, String remoteSegment, String producerName) {
        String key = HexFormat.of().formatHex(version);
        CompletableFuture<byte[]> f = known.computeIfAbsent(key,
                k -> translate(version, localSegment, remoteSegment, producerName));
        f.whenComplete((v, e) -> {
            if (e != null) {
                known.remove(key, f);
            }
        });
        return f;
    }

    private CompletableFuture<byte[]> translate(byte[] version, String localSegment, String remoteSegment,
                                                String producerName) {
        SchemaRegistryService registry = pulsar.getSchemaRegistryService();
        return registry.getSchema(TopicName.get(localSegment).getSchemaName(), registry.versionFromBytes(version))
                .thenCompose(found -> {
                    if (found == null) {
                        throw new IllegalStateException("schema version " + HexFormat.of().formatHex(version)
                                + " is not in the local registry");
                    }
                    SchemaInfo info = found.schema.toSchemaInfo();
                    return register(info, remoteSegment, producerName).thenApply(v -> {
                        last = info;
                        return v;
                    });
                });
    }

    private CompletableFuture<byte[]> register(SchemaInfo info, String remoteSegment, String producerName) {
        return client.getConnection(remoteSegment).thenCompose(cnx -> {
            long request = client.newRequestId();
            return cnx.sendGetOrCreateSchema(Commands.newGetOrCreateSchema(request, remoteSegment, producerName, info),
                    request);
        }).thenApply(v -> {
            if (v.length == 0) {
                throw new IllegalStateException(remoteSegment + " has no schema version for it");
            }
            return v;
        });
    }
}
