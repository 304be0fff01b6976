// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import java.util.List;
import org.apache.pulsar.common.naming.TopicName;

/**
 * Who a segment's replicator is: what goes into the origin record of everything that it sends.
 *
 * @param topic        the scalable topic, {@code topic://tenant/namespace/name}
 * @param segment      this segment's id
 * @param rangeStart   its hash range, inclusive
 * @param rangeEnd     inclusive
 * @param instance     topic instance id, hexadecimal
 * @param generation   generation of this segment's cursor for this remote; kept with the cursor, so a new cursor
 *                     never continues an old one's numbering
 * @param profile      {@code m1} or {@code pip486}
 * @param bucketStarts starts of buckets 1..; empty = one bucket
 * @param cutCap       uncompressed bytes that one part may hold
 */
public record SourceIdentity(TopicName topic, long segment, int rangeStart, int rangeEnd, String instance,
                             long generation, String profile, List<Integer> bucketStarts, int cutCap) {
}
