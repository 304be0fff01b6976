// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.persistent;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.bookkeeper.mledger.ManagedCursor;
import org.apache.bookkeeper.mledger.Position;
import org.apache.bookkeeper.mledger.PositionFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How many entries have left a replication cursor without having been sent, and where the cursor stood when the last of
 * them was found; kept with the cursor, because who looks into a loss looks after the next restart. The core counts.
 *
 * <pre>
 *   cursor property "georep.lapsed" -> "entries@ledger:entry"
 * </pre>
 */
final class CursorLapse {
    static final String PROPERTY = "georep.lapsed";
    private static final Logger LOG = LoggerFactory.getLogger(CursorLapse.class);

    private final ManagedCursor cursor;
    private long entries;
    private Position horizon = PositionFactory.EARLIEST;
    private CompletableFuture<?> stored = CompletableFuture.completedFuture(null);

    CursorLapse(ManagedCursor cursor) {
        this.cursor = cursor;
        Map<String, String> properties = cursor.getCursorProperties();
        String v = properties == null ? null : properties.get(PROPERTY);
        int at = v == null ? -1 : v.indexOf('@');
        int colon = v == null ? -1 : v.indexOf(':', at);
        try {
            if (at > 0 && colon > at) {
                entries = Long.parseLong(v.substring(0, at));
                horizon = PositionFactory.create(Long.parseLong(v.substring(at + 1, colon)),
                        Long.parseLong(v.substring(colon + 1)));
            }
        } catch (NumberFormatException e) {
            LOG.warn("{}: {} is {}, which is not understood", cursor.getName(), PROPERTY, v);
        }
    }

    /** More of them; stored in the background, one write after the other. */
    synchronized void add(long more, Position at) {
        entries += more;
        horizon = at;
        String value = entries + "@" + at.getLedgerId() + ":" + at.getEntryId();
        stored = stored.handle((x, e) -> null).thenCompose(x -> cursor.putCursorProperty(PROPERTY, value))
                .exceptionally(e -> {
                    LOG.warn("{}: cannot store {} {}: {}", cursor.getName(), PROPERTY, value, e.toString());
                    return null;
                });
    }

    synchronized long entries() {
        return entries;
    }

    /** "ledger:entry", or empty where nothing was lost. */
    synchronized String horizon() {
        return entries == 0 ? "" : horizon.getLedgerId() + ":" + horizon.getEntryId();
    }
}
