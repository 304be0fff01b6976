// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import org.apache.bookkeeper.mledger.Entry;
import org.apache.bookkeeper.mledger.Position;
import org.apache.bookkeeper.mledger.PositionFactory;

/** A position in a segment's log, as a key of maps. */
record EntryKey(long ledger, long entry) {
    static EntryKey of(Entry e) {
        return new EntryKey(e.getLedgerId(), e.getEntryId());
    }

    Position position() {
        return PositionFactory.create(ledger, entry);
    }
}
