// SPDX-License-Identifier: Apache-2.0
package georep.plugin.dest;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * Which streams a destination segment may forget, by what their origin says of itself: those of an earlier life of the
 * topic there, and those of segments that have left the origin's layout, which happens only when everything in them has
 * been replicated. A segment with a higher id than any in the layout may be newer than the answer: it is kept.
 *
 * @param cluster  who answered
 * @param instance the topic's instance there
 * @param segments all segments of the layout, sealed ones too
 */
public record GoneOrigins(String cluster, String instance, Set<Long> segments) {

    /** From a georep.v1.PeerState; IllegalArgumentException where something that is needed is missing. */
    public static GoneOrigins ofState(JsonNode state) {
        Set<Long> ids = new TreeSet<>();
        for (JsonNode s : state.path("layout").path("segments")) {
            ids.add(s.path("id").asLong());
        }
        String cluster = state.path("cluster").asText();
        String instance = state.path("instance").asText();
        if (cluster.isEmpty() || instance.isEmpty() || ids.isEmpty()) {
            throw new IllegalArgumentException("state without " + (cluster.isEmpty() ? "cluster" : instance.isEmpty()
                    ? "instance" : "layout"));
        }
        return new GoneOrigins(cluster, instance, ids);
    }

    /** The streams of a georep.v1.DedupStatus that may be forgotten. */
    public List<OriginKey> among(JsonNode dedupStatus) {
        List<OriginKey> gone = new ArrayList<>();
        for (JsonNode e : dedupStatus.path("entries")) {
            JsonNode k = e.path("key");
            OriginKey key = new OriginKey(k.path("cluster").asText(), k.path("instance").asText(),
                    Long.parseUnsignedLong(k.path("segment").asText("0")),
                    Long.parseUnsignedLong(k.path("generation").asText("0")));
            if (key.cluster().equals(cluster) && gone(key)) {
                gone.add(key);
            }
        }
        return gone;
    }

    private boolean gone(OriginKey k) {
        return !k.instance().equals(instance)
                || !segments.contains(k.segment()) && k.segment() < Collections.max(segments);
    }
}
