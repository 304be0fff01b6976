// SPDX-License-Identifier: Apache-2.0
package georep.plugin.control;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.core.JsonProcessingException;
import java.util.List;
import org.apache.pulsar.common.util.ObjectMapperFactory;

/**
 * Property {@code georep.segment.<id>}: what was true when the segment was created and stays true for its entries.
 *
 * @param profile      how keys find segments: {@code m1} or {@code pip486}
 * @param bucketStarts starts of buckets 1..; empty = one bucket
 * @param cutCap       uncompressed bytes that one part may hold
 */
@JsonIgnoreProperties(ignoreUnknown = true)
public record SegmentRecord(String profile, List<Integer> bucketStarts, int cutCap) {
    public SegmentRecord {
        bucketStarts = bucketStarts == null ? List.of() : List.copyOf(bucketStarts);
    }

    static SegmentRecord parse(String name, String json) {
        try {
            return ObjectMapperFactory.getMapper().reader().readValue(json, SegmentRecord.class);
        } catch (java.io.IOException e) {
            throw new IllegalArgumentException("property " + name + ": " + e.getMessage(), e);
        }
    }

    String json() {
        try {
            return ObjectMapperFactory.getMapper().writer().writeValueAsString(this);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(e); // three plain fields
        }
    }
}
