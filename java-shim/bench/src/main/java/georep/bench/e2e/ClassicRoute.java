// SPDX-License-Identifier: Apache-2.0
package georep.bench.e2e;

import georep.it.Federation;
import java.util.List;
import org.apache.pulsar.broker.service.persistent.PersistentTopic;

/** A topic of four partitions and Pulsar's own geo-replicator, which a namespace's clusters switch on. */
final class ClassicRoute extends Route {
    private final String namespace;
    private final String topic;

    ClassicRoute(Pair pair) throws Exception {
        super(pair);
        namespace = pair.namespace();
        topic = "persistent://" + namespace + "/t";
        pair.a.admin().topics().createPartitionedTopic(topic, Corpus.SEGMENTS);
        pair.b.admin().topics().createPartitionedTopic(topic, Corpus.SEGMENTS);
        List<String> names = Pair.partitions(topic);
        from = Pair.load(pair.a, names);
        to = Pair.load(pair.b, names);
    }

    @Override
    String cursor() {
        return "pulsar.repl." + pair.b.name;
    }

    @Override
    void start() throws Exception {
        pair.replicate(namespace);
    }

    @Override
    void assertWay(long entries) {
        for (PersistentTopic t : from) {
            await(t.getName() + "'s replicator to be done", () -> t.getReplicators().values().stream()
                    .allMatch(r -> r.getNumberOfEntriesInBacklog() == 0));
        }
    }

    @Override
    void verify(Entries entries, long batchesPerSegment) throws Exception {
        Payloads.verify(to, entries, batchesPerSegment, pair.a.name);
    }

    @Override
    public void close() throws Exception {
        Federation.stop(pair.a, namespace);
        await("replicators of " + topic + " to end", () -> from.stream().allMatch(t -> t.getReplicators().isEmpty()));
        pair.delete(from, to);
    }
}
