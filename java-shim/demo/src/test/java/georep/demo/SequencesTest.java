// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** The comparison of what is stored with what the application received. */
class SequencesTest {
    private static Sequences of(String... keysAndNumbers) {
        Sequences s = new Sequences();
        for (String kn : keysAndNumbers) {
            int at = kn.indexOf('#');
            s.add(kn.substring(0, at), Integer.parseInt(kn.substring(at + 1)));
        }
        return s;
    }

    private static final Sequences STORED = of("a#1", "b#2", "a#3", "#4", "#5", "b#3");

    @Test
    void keysMayPassEachOtherAndTheKeylessHaveNoOrder() {
        assertThat(STORED.difference(of("b#2", "b#3", "#5", "a#1", "a#3", "#4"))).isNull();
    }

    @Test
    void whatIsMissingMovedRepeatedOrForeignIsFound() {
        assertThat(STORED.difference(of("b#2", "b#3", "#5", "a#1", "#4")))
                .isEqualTo("key \"a\": message 1 of 2 is 3, received none");
        assertThat(STORED.difference(of("b#2", "b#3", "#5", "a#3", "a#1", "#4")))
                .isEqualTo("key \"a\": message 0 of 2 is 1, received 3");
        assertThat(STORED.difference(of("b#2", "b#3", "b#3", "#5", "a#1", "a#3", "#4")))
                .isEqualTo("key \"b\": message 2 of 2 is none, received 3");
        assertThat(STORED.difference(of("b#2", "b#3", "#4", "a#1", "a#3", "#4")))
                .isEqualTo("key \"\": message 1 of 2 is 5, received 4");
        assertThat(STORED.difference(of("b#2", "b#3", "#5", "a#1", "a#3", "#4", "c#1")))
                .isEqualTo("key \"c\" was never published");
    }
}
