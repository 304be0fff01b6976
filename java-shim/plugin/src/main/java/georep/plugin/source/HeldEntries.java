// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import georep.nativelib.Window;
import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The entries that a window has borrowed. Each one's buffer goes back exactly once: at the window's RELEASE, when the
 * window refuses it, or at the end. On the window's executor.
 */
final class HeldEntries {
    private static final Logger LOG = LoggerFactory.getLogger(HeldEntries.class);

    private final SegmentSession.Segment host;
    private final DelayTracker delay;
    private final Map<EntryKey, HeldEntry> held = new HashMap<>();
    private final List<HeldEntry> offered = new ArrayList<>();
    private long delta;

    HeldEntries(SegmentSession.Segment host, DelayTracker delay) {
        this.host = host;
        this.delay = delay;
    }

    boolean isEmpty() {
        return held.isEmpty();
    }

    /** Bytes borrowed (or, negative, given back) since the last call. */
    long takeDelta() {
        long d = delta;
        delta = 0;
        return d;
    }

    /** Gives one to the window's next step; false: the window has it, from before a rewind. */
    boolean offer(SegmentSession.Offer o, Window window) {
        EntryKey k = EntryKey.of(o.entry());
        if (held.containsKey(k)) {
            host.released(o.entry(), o.token());
            return false;
        }
        HeldEntry h = new HeldEntry(o);
        h.index = window.offer(h.address, h.length, o.flags(), k.ledger(), k.entry());
        offered.add(h);
        return true;
    }

    /** After the step: keeps what the window has borrowed. */
    void keepOffered(Window window) {
        for (HeldEntry h : offered) {
            if (window.offerKept(h.index)) {
                keep(h);
            } else {
                LOG.debug("{}:{} was offered again", h.offer.entry().getLedgerId(), h.offer.entry().getEntryId());
                free(h);
            }
        }
        offered.clear();
    }

    private void keep(HeldEntry h) {
        EntryKey k = EntryKey.of(h.offer.entry());
        held.put(k, h);
        delta += h.length;
        delay.add(k.ledger(), k.entry(), h.offer.publishTime());
    }

    /** A part of an entry's memory that outlives the entry. */
    ByteBuf slice(EntryKey k, long from, int length) {
        return held.get(k).retainedSlice(from, length);
    }

    /** What was given with an entry. */
    Object token(EntryKey k) {
        return held.get(k).offer.token();
    }

    void release(EntryKey k) {
        HeldEntry h = held.remove(k);
        if (h != null) {
            delta -= h.length;
            free(h);
        }
    }

    /** The window is closed and has nothing borrowed. */
    void releaseAll() {
        held.values().forEach(h -> {
            delta -= h.length;
            free(h);
        });
        held.clear();
        offered.forEach(this::free);
        offered.clear();
    }

    private void free(HeldEntry h) {
        h.free();
        host.released(h.offer.entry(), h.offer.token());
    }
}
