// SPDX-License-Identifier: Apache-2.0
package georep.plugin.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import georep.plugin.http.ExchangeGate.Pass;
import jakarta.ws.rs.WebApplicationException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class ExchangeGateTest {
    private long now;

    private void refused(ExchangeGate gate, String caller, long length, String why, long retry) {
        assertThatThrownBy(() -> gate.enter(caller, length)).hasMessage(why)
                .isInstanceOfSatisfying(WebApplicationException.class, e -> {
                    assertThat(e.getResponse().getStatus()).isEqualTo(429);
                    assertThat(e.getResponse().getHeaderString("Retry-After")).isEqualTo(Long.toString(retry));
                });
    }

    @Test
    void oneCallerHasSoManyCallsASecond() {
        ExchangeGate gate = new ExchangeGate(5, () -> now);
        for (int i = 0; i < 10; i++) {
            gate.enter("b@1", 10).close();
        }
        refused(gate, "b@1", 10, "more than 5 calls a second from b@1", 1);
        gate.enter("b@2", 10).close();
        now += TimeUnit.MILLISECONDS.toNanos(200);
        gate.enter("b@1", 10).close();
        refused(gate, "b@1", 10, "more than 5 calls a second from b@1", 1);
    }

    @Test
    void bodiesTogetherAreBounded() {
        ExchangeGate gate = new ExchangeGate(1000, () -> now);
        List<Pass> in = new ArrayList<>();
        for (int i = 0; i < 7; i++) {
            in.add(gate.enter("b", BodyLimit.MAX_BYTES));
        }
        in.add(gate.enter("b", -1)); // announces nothing: as the largest
        refused(gate, "b", 1, "more than " + ExchangeGate.MAX_BYTES + " bytes of calls are being answered", 1);
        in.get(7).close();
        in.get(7).close(); // once more gives nothing back
        gate.enter("b", BodyLimit.MAX_BYTES);
        refused(gate, "b", 1, "more than " + ExchangeGate.MAX_BYTES + " bytes of calls are being answered", 1);
    }

    @Test
    void bucketsFillAgainAndNotBeyondTheBrim() {
        CallerBuckets b = new CallerBuckets(2, 1, () -> now);
        assertThat(List.of(b.take("x"), b.take("x"), b.take("x"))).containsExactly(0L, 0L, 1L);
        now += TimeUnit.HOURS.toNanos(1);
        assertThat(List.of(b.take("x"), b.take("x"), b.take("x"))).containsExactly(0L, 0L, 1L);
    }

    @Test
    void onlySoManyCallersAreKnown() {
        CallerBuckets b = new CallerBuckets(1, 1, () -> now);
        assertThat(b.take("first")).isZero();
        for (int i = 0; i < 998; i++) {
            b.take("caller" + i);
        }
        assertThat(b.take("first")).as("still known").isEqualTo(1);
        for (int i = 0; i < 5000; i++) {
            b.take("other" + i);
        }
        assertThat(b.size()).isEqualTo(1000);
        assertThat(b.take("first")).as("forgotten").isZero();
    }
}
