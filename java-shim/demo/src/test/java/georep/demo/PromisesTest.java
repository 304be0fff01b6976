// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What both demos find fault with. */
class PromisesTest {
    private static Verify.Answer answer(int status, String differences) throws Exception {
        return new Verify.Answer(status, new ObjectMapper().readTree("{\"total\":{\"messages\":14},\"pairs\":["
                + "{\"origin\":\"a\",\"copy\":\"b\",\"messages\":10},{\"origin\":\"b\",\"copy\":\"a\",\"messages\":4}],"
                + "\"differences\":" + differences + "}"));
    }

    @Test
    void everyOriginHasWhatItAcknowledged() throws Exception {
        Verify.Answer v = answer(0, "[]");
        assertThat(v.published("b")).as("its own, not what came").isEqualTo(4);
        assertThat(v.published("c")).as("not in it").isZero();
        assertThat(Promises.logs("a and b", v, "a", v.published("a"), 10)).isEmpty();
        assertThat(Promises.logs("a and b", v, "a", v.published("a"), 11))
                .containsExactly("a stores 10 messages of 11 that it acknowledged");
        assertThat(Promises.stored("b", v.published("b"), 5))
                .containsExactly("b stores 4 messages of 5 that it acknowledged");
        assertThat(Promises.logs("a and b", answer(1, "[\"lost: a -> b\"]"), "a", 10, 10))
                .containsExactly("georep verify: a and b differ", "\"lost: a -> b\"");
    }

    @Test
    void everySplitHasTrafficBesideIt() {
        assertThat(Promises.traffic(List.of(new Splits.Split("a", 0, 1, 9)))).isEmpty();
        assertThat(Promises.traffic(List.of(new Splits.Split("a", 0, 1, 9), new Splits.Split("b", 0, 0, 9))))
                .containsExactly("a split had no traffic beside it");
        assertThat(Promises.traffic(List.of())).hasSize(1);
    }
}
