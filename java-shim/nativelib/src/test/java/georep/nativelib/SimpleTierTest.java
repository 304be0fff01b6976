// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Placing and cutting without a window. */
class SimpleTierTest {
    private static final String TWO = """
            {"epoch":1,"segments":{
             "0":{"segmentId":0,"hashRange":{"start":0,"end":32767},"state":"ACTIVE","entryBucketSplits":[]},
             "1":{"segmentId":1,"hashRange":{"start":32768,"end":65535},"state":"ACTIVE","entryBucketSplits":[]}}}""";
    private static final String[] LOW = Entries.keys(100, 0, 0x7fffffffL);
    private static final String[] HIGH = Entries.keys(2, 0x80000000L, 0xffffffffL);

    private final ByteBuffer arena = ByteBuffer.allocateDirect(1 << 16);
    private final Layout two = Layout.fromPulsarJson(TWO);

    @AfterEach
    void close() {
        two.close();
    }

    private static SourceSegment source(int rangeEnd, int maxMessageBytes) {
        return new SourceSegment("eu", "us", "topic://public/default/t", "ab12", 2, 4, 0, rangeEnd,
                Peer.PROFILE_PIP486, maxMessageBytes);
    }

    private static void add(Placer p, ByteBuffer entry, long id) {
        p.add(Georep.address(entry), entry.remaining(), 0, 7, id);
    }

    private static int cut(Rebatcher r, Layout to, ByteBuffer entry, ByteBuffer arena, int room) {
        return r.cut(to, Georep.address(entry), entry.remaining(), 7, 5, Georep.address(arena), room);
    }

    /** Header and payload make an entry with a right checksum that names who sent it, from where. */
    private static void requireSent(ByteBuffer header, ByteBuffer payload, String position) {
        ByteBuffer all = ByteBuffer.allocate(header.remaining() + payload.remaining()).put(header).put(payload).flip();
        assertThat(all.getShort(0)).isEqualTo((short) 0x0e01);
        assertThat(all.getInt(2)).isEqualTo(Entries.crc(all, 6));
        assertThat(new String(all.array(), StandardCharsets.ISO_8859_1)).contains("eu",
                "__MSG_PROP_REPL_SOURCE_POSITION\u0012" + (char) position.length() + position, "1|eu|ab12|4|2|");
    }

    @Test
    void placesManyEntriesInOneCall() {
        Placer p = new Placer(source(32767, 0), 3);
        ByteBuffer first = Entries.batch(LOW[0], LOW[1]);
        ByteBuffer second = Entries.batch(LOW[2]);
        ByteBuffer junk = ByteBuffer.allocateDirect(8);
        add(p, first, 1);
        add(p, junk, 2);
        add(p, second, 3);
        assertThat(p.place(two, Georep.address(arena), arena.capacity())).isEqualTo(3);
        assertThat(new int[] {p.action(0), p.action(1), p.action(2)})
                .containsExactly(Placement.VERBATIM, Placement.PARK, Placement.VERBATIM);
        assertThat(new int[] {p.messages(0), p.messages(2)}).containsExactly(2, 1);
        assertThat(Placement.reason(p.reason(1))).isEqualTo("malformed");
        assertThat(p.headerAddress(1)).isZero();
        assertThat(p.segment(0)).isZero();
        assertThat(p.bucket(0)).isZero();
        assertThat(p.headerAddress(0)).isEqualTo(Georep.address(arena));
        assertThat(p.headerAddress(2)).isEqualTo(p.headerAddress(0) + p.headerLength(0));
        assertThat(p.needed()).isEqualTo(p.headerLength(0) + p.headerLength(2));
        assertThat(p.payloadOffset(2) + p.payloadLength(2)).isEqualTo(second.remaining());
        requireSent(Georep.view(p.headerAddress(2), p.headerLength(2)),
                second.duplicate().position(p.payloadOffset(2)), "7:3");
    }

    @Test
    void placingNeedsRoom() {
        Placer p = new Placer(source(32767, 0), 1);
        ByteBuffer entry = Entries.batch(LOW[0]);
        add(p, entry, 1);
        assertThatThrownBy(() -> add(p, entry, 2)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> p.place(two, Georep.address(arena), 10)).isInstanceOf(StatusException.class)
                .extracting(e -> ((StatusException) e).code()).isEqualTo(Status.SPACE);
        assertThatThrownBy(() -> p.action(0)).isInstanceOf(IndexOutOfBoundsException.class);
        long needed = p.needed();
        add(p, entry, 1);
        assertThat(p.place(two, Georep.address(arena), needed)).isEqualTo(1);
        assertThat(p.headerLength(0)).isEqualTo((int) needed);
    }

    @Test
    void cutsABatchIntoPartsInSendingOrder() {
        Rebatcher r = new Rebatcher(source(65535, 0), true);
        ByteBuffer entry = Entries.batch(LOW[0], HIGH[0], LOW[1], HIGH[1], LOW[2]);
        assertThat(cut(r, two, entry, arena, 20)).isZero();
        assertThat(r.needed()).isGreaterThan(20);
        int room = (int) r.needed();
        assertThat(cut(r, two, entry, arena, room)).isEqualTo(2);
        assertThat(new long[] {r.segment(0), r.segment(1)}).containsExactly(0, 1);
        assertThat(new long[] {r.part(0), r.part(1)}).containsExactly(2, 1);
        assertThat(new int[] {r.messages(0), r.messages(1), r.bucket(0), r.bucket(1)}).containsExactly(3, 2, 0, 0);
        assertThat(r.address(0)).isEqualTo(Georep.address(arena));
        assertThat(r.address(1) + r.headerLength(1) + r.payloadLength(1)).isEqualTo(Georep.address(arena) + room);
        for (int i = 0; i < 2; i++) {
            requireSent(Georep.view(r.address(i), r.headerLength(i)),
                    Georep.view(r.address(i) + r.headerLength(i), r.payloadLength(i)), "7:5:" + r.part(i));
        }
        ByteBuffer payload = Georep.view(r.address(1) + r.headerLength(1), r.payloadLength(1));
        byte[] bytes = new byte[payload.remaining()];
        payload.get(bytes);
        assertThat(new String(bytes, StandardCharsets.ISO_8859_1)).contains(HIGH[0], HIGH[1])
                .doesNotContain(LOW[0]);
    }

    /** The list of parts grows when there are more than it holds. */
    @Test
    void cutsIntoMorePartsThanExpected() {
        String cutOften = TWO.replace("\"segments\"", "\"properties\":{\"georep.segment.0\":\"{\\\"profile\\\":"
                + "\\\"pip486\\\",\\\"bucketStarts\\\":[],\\\"cutCap\\\":1}\"},\"segments\"");
        String[] keys = LOW.clone();
        keys[99] = HIGH[0];
        try (Layout to = Layout.fromPulsarJson(cutOften)) {
            Rebatcher r = new Rebatcher(source(65535, 0), true);
            assertThat(cut(r, to, Entries.batch(keys), arena, arena.capacity())).isEqualTo(100);
            assertThat(r.part(98)).isEqualTo(98);
            assertThat(r.segment(99)).isEqualTo(1);
        }
    }

    @Test
    void refusesWhatIsNotToBeCut() {
        Rebatcher r = new Rebatcher(source(32767, 0), true);
        ByteBuffer entry = Entries.batch(LOW[0], LOW[1]);
        assertThatThrownBy(() -> cut(r, two, entry, arena, arena.capacity())).isInstanceOf(StatusException.class)
                .hasMessageContaining("verbatim").extracting(e -> ((StatusException) e).code())
                .isEqualTo(Status.UNSUPPORTED);
        assertThatThrownBy(() -> r.part(0)).isInstanceOf(IndexOutOfBoundsException.class);
    }
}
