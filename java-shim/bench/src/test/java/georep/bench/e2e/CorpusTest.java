// SPDX-License-Identifier: Apache-2.0
package georep.bench.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.pulsar.common.util.Murmur3_32Hash;
import org.junit.jupiter.api.Test;

class CorpusTest {
    private final Corpus corpus = new Corpus();

    @Test
    void keysBelongToTheirSegmentAndLieOnBothSidesOfTheBoundaryInIt() {
        int[] boundaries = {0x3333, 0x6666, 0x9999, 0xcccc}; // of five segments
        for (int s = 0; s < Corpus.SEGMENTS; s++) {
            for (int i = 0; i < Corpus.CYCLE; i++) {
                int below = 0;
                int here = 0;
                for (Corpus.Message m : corpus.batch(s, i)) {
                    int at = Murmur3_32Hash.getInstance().makeHash(m.key().getBytes(StandardCharsets.UTF_8)) & 0xffff;
                    here += at >> 14 == s && m.value().length == Corpus.SIZE ? 1 : 0;
                    below += at < boundaries[s] ? 1 : 0;
                }
                assertThat(here).as("segment %d batch %d", s, i).isEqualTo(Corpus.BATCH);
                assertThat(below).as("segment %d batch %d", s, i).isBetween(1, Corpus.BATCH - 1);
            }
        }
    }

    @Test
    void sequencesAreWhatBatchesHold() {
        Map<String, List<Integer>> want = new HashMap<>();
        for (int i = 0; i < 2; i++) {
            for (Corpus.Message m : corpus.batch(1, Corpus.CYCLE + i)) { // batches repeat
                want.computeIfAbsent(m.key(), k -> new ArrayList<>()).add(Corpus.crc(Unpooled.wrappedBuffer(
                        m.value())));
            }
        }
        assertThat(corpus.sequences(1, 2)).isEqualTo(want);
    }

    @Test
    void everyRunHasTheSameMessages() {
        assertThat(new Corpus().sequences(3, Corpus.CYCLE)).isEqualTo(corpus.sequences(3, Corpus.CYCLE));
    }
}
