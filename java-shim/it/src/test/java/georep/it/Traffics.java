// SPDX-License-Identifier: Apache-2.0
package georep.it;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Publishers that begin and end together. */
final class Traffics implements AutoCloseable {
    private final List<Traffic> running = new ArrayList<>();
    private final Map<Cluster, Integer> firsts = new HashMap<>();

    /** Begins to publish, see {@link Traffic#start(Cluster, String, int, int, int)}. */
    void start(Cluster from, String topic, int keys, int first, int perSecond) throws Exception {
        running.add(Traffic.start(from, topic, keys, first, perSecond));
        firsts.put(from, first);
    }

    /** Number of the first message from a cluster, as the last start there said. */
    int first(Cluster from) {
        return firsts.get(from);
    }

    /** Waits until each has so many more messages stored. */
    void more(int messages) {
        running.forEach(x -> x.more(messages));
    }

    void finish() throws Exception {
        for (Traffic x : running) {
            x.finish();
        }
    }

    @Override
    public void close() throws Exception {
        for (Traffic x : running) {
            x.close();
        }
    }
}
