// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class WindowTest {
    private static final String TWO = """
            {"epoch":1,"segments":{
             "0":{"segmentId":0,"hashRange":{"start":0,"end":32767},"state":"ACTIVE","entryBucketSplits":[]},
             "1":{"segmentId":1,"hashRange":{"start":32768,"end":65535},"state":"ACTIVE","entryBucketSplits":[]}}}""";

    private final ByteBuffer arena = ByteBuffer.allocateDirect(1 << 16);
    private final Layout two = Layout.fromPulsarJson(TWO);
    private final Window window = open(0, 65535, 256);
    private final List<ByteBuffer> lent = new ArrayList<>();

    private static Window open(int first, int last, int maxActions) {
        return Window.open(new WindowConfig().clusters("eu", "us").segment(4, first, last, Peer.PROFILE_PIP486, false)
                .topic("topic://public/default/t", "ab12", 2).policies(false, false, true)
                .entryLimits(1 << 20, 1 << 24, 1000).windowLimits(100, 1 << 20, 10).retryMillis(50)
                .toProto(), maxActions);
    }

    @AfterEach
    void close() {
        window.close();
        two.close();
    }

    private int offer(Window w, ByteBuffer b, long entry) {
        lent.add(b); // reachable until the end of the test
        return w.offer(Georep.address(b), b.remaining(), 0, 7, entry);
    }

    private int step(Window w) {
        return w.step(Georep.address(arena), arena.capacity());
    }

    private void start(Window w) {
        w.setRemote(two, 1 << 20);
        w.gate(true);
        w.tick(1);
    }

    @Test
    void sendsPartsUnderTheBudgetAndDeletesWhenAllAreStored() {
        String[] low = Entries.keys(2, 0, 0x7fffffffL);
        String[] high = Entries.keys(1, 0x80000000L, 0xffffffffL);
        start(window);
        int i = offer(window, Entries.batch(low[0], high[0], low[1]), 5);
        assertThat(step(window)).isEqualTo(1);
        assertThat(window.offerKept(i)).isTrue();
        assertThat(window.actions().kind(0)).isEqualTo(Actions.ASK_BUDGET);
        assertThat(window.more()).isFalse();

        window.granted();
        assertThat(step(window)).isEqualTo(3);
        assertThat(new int[] {window.actions().kind(0), window.actions().kind(1), window.actions().kind(2)})
                .containsExactly(Actions.SEND, Actions.SEND, Actions.RETURN_BUDGET);
        assertThat(Placement.action(window.actions().path(0))).isEqualTo("rebatch");
        assertThat(Placement.reason(window.actions().reason(0))).isEqualTo("segment-misfit");
        assertThat(window.actions().segment(0)).isZero();
        assertThat(window.actions().part(0)).isEqualTo(1);
        assertThat(window.actions().messages(0)).isEqualTo(2);
        assertThat(window.actions().bucket(0)).isZero();
        assertThat(window.actions().segment(1)).isEqualTo(1);
        assertThat(window.actions().part(1)).isZero();
        assertThat(window.actions().ledger(1)).isEqualTo(7);
        assertThat(window.actions().entry(1)).isEqualTo(5);
        long first = window.actions().sendId(0);
        long second = window.actions().sendId(1);
        assertThat(wire(0)).isEqualTo(window.actions().headerLength(0) + window.actions().payloadLength(0));

        window.outcome(second, Window.ACKED);
        assertThat(step(window)).isZero();
        window.outcome(first, Window.ACKED);
        assertThat(step(window)).isEqualTo(2);
        assertThat(List.of(window.actions().kind(0), window.actions().kind(1)))
                .containsExactlyInAnyOrder(Actions.RELEASE, Actions.DELETE);
        window.deleted(7, 5);
        assertThat(step(window)).isZero();
        assertThat(window.statusJson()).contains("\"state\":\"replicating\"", "{\"name\":\"parts\",\"value\":\"2\"}");
    }

    /** Header and payload of send i make an entry with a right checksum; returns its size. */
    private int wire(int i) {
        ByteBuffer all = ByteBuffer.allocate(window.actions().headerLength(i) + window.actions().payloadLength(i));
        all.put(Georep.view(window.actions().headerAddress(i), window.actions().headerLength(i)));
        all.put(Georep.view(window.actions().payloadAddress(i), window.actions().payloadLength(i))).flip();
        assertThat(all.getShort(0)).isEqualTo((short) 0x0e01);
        assertThat(all.getInt(2)).isEqualTo(Entries.crc(all, 6));
        return all.capacity();
    }

    @Test
    void verbatimPayloadIsNotCopied() {
        try (Window w = open(0, 32767, 256)) {
            start(w);
            ByteBuffer b = Entries.batch(Entries.keys(3, 0, 0x7fffffffL));
            int i = offer(w, b, 1);
            assertThat(step(w)).isEqualTo(1);
            assertThat(w.offerKept(i)).isTrue();
            assertThat(w.actions().kind(0)).isEqualTo(Actions.SEND);
            assertThat(w.actions().part(0)).isEqualTo(Georep.WHOLE);
            assertThat(w.actions().payloadAddress(0) + w.actions().payloadLength(0))
                    .isEqualTo(Georep.address(b) + b.limit());
            assertThat(w.actions().headerAddress(0)).isEqualTo(Georep.address(arena));
            assertThat(w.arenaUsed()).isEqualTo(w.actions().headerLength(0));
            i = offer(w, b.duplicate(), 1);
            step(w);
            assertThat(w.result(i)).isEqualTo(Status.OK);
            assertThat(w.offerKept(i)).as("a position that is held already").isFalse();
        }
    }

    /** A segment that records a cut cap of one byte makes a part of every message. */
    @Test
    void tenThousandPartsPassThroughASmallArena() {
        int many = 10_000;
        String json = TWO.replace("\"segments\"", "\"properties\":{\"georep.segment.0\":\"{\\\"profile\\\":"
                + "\\\"pip486\\\",\\\"bucketStarts\\\":[],\\\"cutCap\\\":1}\"},\"segments\"");
        String[] keys = Entries.keys(many, 0, 0x7fffffffL);
        ByteBuffer payload = ByteBuffer.allocate(64 * many);
        for (String k : keys) {
            byte[] meta = new Wire().string(2, k).varint(3, 1).bytes();
            payload.putInt(meta.length).put(meta).put((byte) 'x');
        }
        byte[] meta = new Wire().string(1, "p").varint(2, 1).varint(3, 1).varint(11, many).bytes();
        ByteBuffer entry = Entries.entry(meta, java.util.Arrays.copyOf(payload.array(), payload.position()));
        byte[] config = new WindowConfig().clusters("eu", "us").segment(4, 0, 65535, Peer.PROFILE_PIP486, false)
                .topic("topic://public/default/t", "ab12", 2).policies(false, false, true)
                .entryLimits(1 << 20, 1 << 24, many).windowLimits(100, 1 << 20, 10).retryMillis(50).toProto();
        try (Layout cut = Layout.fromPulsarJson(json); Window w = Window.open(config, 256)) {
            w.setRemote(cut, 1 << 20);
            w.gate(true);
            w.tick(1);
            offer(w, entry, 1);
            step(w);
            assertThat(w.actions().kind(0)).isEqualTo(Actions.ASK_BUDGET);
            w.granted();
            List<Long> ids = new ArrayList<>();
            int released = 0;
            do {
                int n = step(w);
                assertThat(w.arenaUsed()).isLessThanOrEqualTo(arena.capacity());
                for (int i = 0; i < n; i++) {
                    if (w.actions().kind(i) == Actions.SEND) {
                        assertThat(w.actions().part(i)).isEqualTo(ids.size());
                        assertThat(w.actions().messages(i)).isEqualTo(1);
                        ids.add(w.actions().sendId(i));
                    }
                }
            } while (w.more());
            assertThat(ids).hasSize(many);
            for (int i = many - 1; i >= 0; i--) { // receipts in the least friendly order
                w.outcome(ids.get(i), Window.ACKED);
                if (i % 100 == 0) {
                    for (int k = step(w) - 1; k >= 0; k--) {
                        released += w.actions().kind(k) == Actions.RELEASE ? 1 : 0;
                    }
                    assertThat(released).isEqualTo(i == 0 ? 1 : 0);
                }
            }
            assertThat(w.statusJson()).contains("{\"name\":\"parts\",\"value\":\"10000\"}");
        }
    }

    @Test
    void smallArenaAndFewActionsLoseNothing() {
        try (Window w = open(0, 32767, 2)) {
            start(w);
            for (int i = 0; i < 7; i++) {
                offer(w, Entries.batch(Entries.keys(1, 0, 0x7fffffffL)), i);
            }
            assertThat(w.step(Georep.address(arena), 16)).isZero();
            assertThat(w.more()).isTrue();
            assertThat(w.needed()).isGreaterThan(16);
            List<Long> sent = new ArrayList<>();
            do {
                int n = w.step(Georep.address(arena), w.needed() > 0 ? w.needed() : arena.capacity());
                assertThat(n).isLessThanOrEqualTo(2);
                for (int i = 0; i < n; i++) {
                    sent.add(w.actions().entry(i));
                }
            } while (w.more());
            assertThat(sent).containsExactly(0L, 1L, 2L, 3L, 4L, 5L, 6L);
        }
    }

    @Test
    void refusedEventsHaveTheirOwnResult() {
        start(window);
        ByteBuffer junk = ByteBuffer.allocateDirect(8).order(ByteOrder.nativeOrder());
        int offered = offer(window, junk, 1);
        assertThat(step(window)).isEqualTo(1);
        assertThat(window.actions().kind(0)).isEqualTo(Actions.PARKED);
        assertThat(Placement.reason(window.actions().reason(0))).isEqualTo("malformed");
        assertThat(window.offerKept(offered)).isTrue();
        assertThat(window.statusJson()).contains("\"state\":\"stalled\"", "\"reason\":\"malformed\"");
        int wrong = window.skip(7, 2);
        int right = window.skip(7, 1);
        assertThat(step(window)).isEqualTo(2);
        assertThat(window.result(wrong)).isEqualTo(Status.ARG);
        assertThat(window.result(right)).isEqualTo(Status.OK);
        assertThatThrownBy(() -> window.actions().kind(2)).isInstanceOf(IndexOutOfBoundsException.class);
    }

    @Test
    void whatTheCursorLostIsToldOnce() {
        start(window);
        window.cursor(7, 4, 5);
        assertThat(step(window)).isEqualTo(1);
        assertThat(window.actions().kind(0)).isEqualTo(Actions.LAPSE);
        assertThat(window.actions().bytes(0)).isEqualTo(5);
        assertThat(window.actions().ledger(0)).isEqualTo(7);
        assertThat(window.actions().entry(0)).isEqualTo(4);
        assertThat(window.statusJson()).contains("\"lapsed\":\"5\"", "\"horizon\":{\"ledger\":\"7\",\"entry\":\"4\"}");
        window.cursor(7, 4, 5);
        assertThat(step(window)).isZero();
    }

    @Test
    void schemaVersionsReachTheWindow() {
        byte[] payload = Entries.utf8("v");
        byte[] meta = new Wire().string(1, "p").varint(2, 1).varint(3, 1).string(6, "k1")
                .bytes(16, new byte[] {0, 3}).bytes();
        try (Window w = open(0, 65535, 256)) {
            start(w);
            offer(w, Entries.entry(meta, payload), 1);
            assertThat(step(w)).isEqualTo(1);
            assertThat(w.actions().kind(0)).isEqualTo(Actions.ASK_SCHEMA);
            assertThat(w.actions().version(0)).containsExactly(0, 3);
            w.schemaMapped(new byte[] {0, 3}, new byte[] {9, 9, 9, 9});
            assertThat(step(w)).isEqualTo(1);
            assertThat(w.actions().kind(0)).isEqualTo(Actions.SEND);
            byte[] header = new byte[w.actions().headerLength(0)];
            Georep.view(w.actions().headerAddress(0), header.length).get(header);
            assertThat(header).containsSequence(new byte[] {(byte) 0x82, 1, 4, 9, 9, 9, 9});
        }
    }

    /** The event memory grows at some event, whichever kind it is: it must not lose that one's fields. */
    @Test
    void eventsSurviveGrowth() {
        for (int before = 0; before < 140; before++) {
            try (Window w = open(0, 32767, 256)) {
                w.setRemote(two, 0);
                for (int i = 0; i < before; i++) {
                    w.outcome(i + 1_000_000L, Window.ACKED); // unknown ids are ignored
                }
                w.gate(true);
                w.pause(true);
                w.tick(5);
                assertThat(step(w)).isZero();
                for (int i = 0; i < before + 3; i++) {
                    assertThat(w.result(i)).isEqualTo(Status.OK);
                }
                assertThat(w.statusJson()).as("after %d events", before).contains("\"state\":\"paused\"");
                w.pause(false);
                step(w);
                assertThat(w.statusJson()).as("gate after %d events", before).contains("\"state\":\"replicating\"");
            }
        }
    }

    @Test
    void wantFollowsTheLimits() {
        assertThat(window.wantEntries()).as("before the handshake").isZero();
        start(window);
        step(window);
        assertThat(window.wantEntries()).isEqualTo(100);
        assertThat(window.wantBytes()).isEqualTo(1 << 20);
        window.block(Window.BLOCK_INCOMPATIBLE);
        step(window);
        assertThat(window.wantEntries()).isZero();
        assertThat(window.statusJson()).contains("\"state\":\"incompatible\"");
        window.block(Window.BLOCK_DENIED);
        step(window);
        assertThat(window.statusJson()).contains("\"state\":\"denied\",\"reason\":\"credentials\"");
    }

    /** A layout is applied at once: a block collected before it must not come after it, or it would last for ever. */
    @Test
    void aLayoutDoesNotOvertakeABlock() {
        start(window);
        step(window);
        window.block(Window.BLOCK_HANDSHAKE);
        assertThatThrownBy(() -> window.setRemote(two, 0)).isInstanceOf(IllegalStateException.class)
                .hasMessage("events wait for a step, which has to come first");
        assertThatThrownBy(() -> window.remoteInstance("ab12")).isInstanceOf(IllegalStateException.class);
        step(window);
        window.setRemote(two, 0);
        step(window);
        assertThat(window.statusJson()).contains("\"state\":\"replicating\"");
    }

    @Test
    void rejectsUseAfterClose() {
        Window w = open(0, 65535, 16);
        w.close();
        w.close();
        assertThat(w.isClosed()).isTrue();
        assertThatThrownBy(() -> step(w)).isInstanceOf(IllegalStateException.class).hasMessage("Window is closed");
        assertThatThrownBy(w::status).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> w.setRemote(two, 0)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void refusesABadConfiguration() {
        WindowConfig incomplete = new WindowConfig().clusters("eu", "us");
        assertThatThrownBy(() -> Window.open(incomplete)).isInstanceOf(StatusException.class)
                .hasMessageContaining("range").extracting(e -> ((StatusException) e).code()).isEqualTo(Status.ARG);
    }
}
