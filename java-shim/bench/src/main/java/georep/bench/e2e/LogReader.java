// SPDX-License-Identifier: Apache-2.0
package georep.bench.e2e;

import io.netty.buffer.ByteBuf;
import java.util.function.Consumer;
import org.apache.bookkeeper.mledger.Entry;
import org.apache.bookkeeper.mledger.ManagedCursor;
import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.bookkeeper.mledger.PositionFactory;

/** Reads a whole log. */
final class LogReader {
    private static final int AT_ONCE = 50;

    private LogReader() {
    }

    /** Shows each entry, from the first to the last that is there now; it is lent for the call. */
    static void read(ManagedLedger log, Consumer<ByteBuf> to) throws Exception {
        ManagedCursor cursor = log.newNonDurableCursor(PositionFactory.EARLIEST);
        try {
            while (cursor.hasMoreEntries()) {
                for (Entry e : cursor.readEntries(AT_ONCE)) {
                    try {
                        to.accept(e.getDataBuffer());
                    } finally {
                        e.release();
                    }
                }
            }
        } finally {
            log.deleteCursor(cursor.getName());
        }
    }
}
