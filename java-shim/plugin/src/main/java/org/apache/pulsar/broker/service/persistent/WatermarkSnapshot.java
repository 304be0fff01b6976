// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.persistent;

import java.util.Base64;
import java.util.Map;
import org.apache.bookkeeper.mledger.Position;
import org.apache.bookkeeper.mledger.PositionFactory;

/**
 * A snapshot of the watermarks as the properties of a cursor's mark-delete, which are text to number:
 *
 * <pre>
 *   "georep.watermarks/1/LEDGER:ENTRY/BASE64" -> 1
 * </pre>
 *
 * The position is inside as well: whoever moves the cursor without a snapshot (backlog eviction does) leaves the old
 * properties in place, and the replay then begins where the snapshot was taken.
 *
 * @param upTo  everything up to this position is in it
 * @param bytes the core's snapshot
 */
record WatermarkSnapshot(Position upTo, byte[] bytes) {
    private static final String PREFIX = "georep.watermarks/1/";

    Map<String, Long> properties() {
        return Map.of(PREFIX + upTo.getLedgerId() + ":" + upTo.getEntryId() + "/"
                + Base64.getEncoder().withoutPadding().encodeToString(bytes), 1L);
    }

    /** Null where there is none; IllegalArgumentException where it does not parse. */
    static WatermarkSnapshot of(Map<String, Long> properties) {
        for (String k : properties.keySet()) {
            if (k.startsWith(PREFIX)) {
                int colon = k.indexOf(':', PREFIX.length());
                int slash = k.indexOf('/', PREFIX.length());
                if (colon < 0 || slash < colon) {
                    throw new IllegalArgumentException("watermark snapshot without position");
                }
                return new WatermarkSnapshot(PositionFactory.create(Long.parseLong(k.substring(PREFIX.length(), colon)),
                        Long.parseLong(k.substring(colon + 1, slash))), Base64.getDecoder()
                                .decode(k.substring(slash + 1)));
            }
        }
        return null;
    }
}
