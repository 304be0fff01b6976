// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.bookkeeper.mledger.Position;
import org.apache.bookkeeper.mledger.proto.ManagedLedgerInfo;
import org.apache.bookkeeper.mledger.proto.ManagedLedgerInfo.LedgerInfo;
import org.apache.bookkeeper.mledger.proto.OffloadContext;

/**
 * A segment's ledgers as its record in the metadata store lists them, in the core's words (georep.v1.SegmentLog). The
 * record does not count what is in its last ledger; that comes from bookkeeper, which tells every owner the same.
 *
 * @param info   the record
 * @param last   position of the log's last entry
 * @param length of the last ledger, bytes
 * @param copies by ledger, for those that were asked about: whether bookkeeper has it
 */
public record LedgerList(ManagedLedgerInfo info, Position last, long length, Map<Long, BookieCopies.Copy> copies) {

    /** The record lacks the ledger of the last entry: another one is being added right now. */
    public boolean behind() {
        List<LedgerInfo> all = inOrder();
        return all.isEmpty() || all.get(all.size() - 1).getLedgerId() < last.getLedgerId();
    }

    /** By id, which is the order of the log: the store's own list may begin with the ledger that was added last. */
    public List<LedgerInfo> inOrder() {
        return info.getLedgerInfosList().stream().sorted(Comparator.comparingLong(LedgerInfo::getLedgerId)).toList();
    }

    /** Those that only bookkeeper can tell more about: the first one, for its age, and whose offload says nothing. */
    public List<Long> unclear() {
        List<LedgerInfo> list = inOrder();
        return list.stream().filter(g -> g == list.get(0) || !readable(g)).map(LedgerInfo::getLedgerId).toList();
    }

    public LedgerList with(Map<Long, BookieCopies.Copy> more) {
        return new LedgerList(info, last, length, more);
    }

    /** georep.v1.SegmentLog. */
    public ObjectNode log(boolean compacted) {
        ObjectNode log = Trees.node().put("compacted", compacted)
                .put("sealed", info.hasTerminatedPosition());
        ArrayNode all = log.putArray("ledgers");
        long before = 0; // when the ledger before was closed; the next one was opened then
        List<LedgerInfo> list = inOrder();
        for (LedgerInfo g : list) {
            BookieCopies.Copy copy = copies.get(g.getLedgerId());
            boolean newest = g == list.get(list.size() - 1);
            boolean open = newest && !info.hasTerminatedPosition();
            ObjectNode n = all.addObject().put("id", g.getLedgerId());
            n.put("entries", newest ? lastEntries(g) : g.getEntries());
            n.put("bytes", newest ? length : g.getSize());
            n.put("open", open);
            n.put("firstMillis", before == 0 ? opened(copy) : before);
            n.put("lastMillis", open ? System.currentTimeMillis() : g.getTimestamp());
            before = g.getTimestamp();
            offload(g, copy, n);
        }
        return log;
    }

    /** Of the first ledger; 0 where bookkeeper does not say it (any more): a time that may lie in it is searched. */
    private static long opened(BookieCopies.Copy copy) {
        return copy == null ? 0 : copy.createdMillis();
    }

    private long lastEntries(LedgerInfo g) {
        return g.getLedgerId() == last.getLedgerId() ? last.getEntryId() + 1 : 0;
    }

    private static void offload(LedgerInfo g, BookieCopies.Copy copy, ObjectNode n) {
        if (!g.hasOffloadContext()) {
            n.put("offload", "OFFLOAD_STATE_NONE").put("bookies", "BOOKIE_COPY_PRESENT");
            return;
        }
        OffloadContext c = g.getOffloadContext();
        n.put("offload", !readable(g) ? "OFFLOAD_STATE_UNREADABLE" : c.isComplete() ? "OFFLOAD_STATE_COMPLETE"
                : "OFFLOAD_STATE_INCOMPLETE");
        n.put("bookies", c.isBookkeeperDeleted() || copy != null && copy.gone() ? "BOOKIE_COPY_DELETED"
                : readable(g) || copy != null && copy.there() ? "BOOKIE_COPY_PRESENT" : "BOOKIE_COPY_UNSPECIFIED");
        if (c.hasUidMsb() && c.hasUidLsb()) {
            n.put("uuid", new UUID(c.getUidMsb(), c.getUidLsb()).toString());
        }
        if (c.hasDriverMetadata() && c.getDriverMetadata().hasName()) {
            n.put("driver", c.getDriverMetadata().getName());
        }
    }

    /** An offload that names no copy says nothing: neither that there is one nor that there is none. */
    public static boolean readable(LedgerInfo g) {
        return !g.hasOffloadContext() || g.getOffloadContext().hasUidMsb() && g.getOffloadContext().hasUidLsb();
    }
}
