// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.assertCopied;
import static georep.it.SourcePair.await;
import static org.assertj.core.api.Assertions.assertThat;

import georep.nativelib.Window;
import java.lang.reflect.Field;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.impl.conf.ProducerConfigurationData;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** Segments that get into trouble on their own broker go on. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class SourceTroubleTest {
    private static final int CAP = 1 << 20;
    private SourcePair p;

    @BeforeAll
    void start() throws Exception {
        p = SourcePair.start(false, s -> s.key("georepInFlightBytes", 2 * CAP).key("georepInFlightBytesPerRemote", CAP)
                .key("georepWindowBytes", CAP));
    }

    @AfterAll
    void stop() throws Exception {
        p.close();
    }

    private static Object field(Object of, String name) throws Exception {
        Field f = of.getClass().getDeclaredField(name);
        f.setAccessible(true);
        return f.get(of);
    }

    @Test
    void aSessionThatFailedBeginsAnew() throws Exception {
        String t = p.topic("failed", 1, 2);
        try (Traffic x = Traffic.start(p.a, t, 20, 0)) {
            x.more(200);
            String segment = SegmentLog.segments(p.a, t).get(0);
            Object session = field(p.a.segment(segment).getReplicators().get(p.b.name), "session");
            Window window = (Window) field(field(session, "driver"), "window");
            window.close(); // its next step throws
            x.more(200);
            x.finish();
            assertThat(window.isClosed()).isTrue();
        }
        assertCopied(p.a, p.b, t);
    }

    @Test
    void aChunkedMessageMayBeLargerThanWhatOthersMayHold() throws Exception {
        String t = p.topic("large", 1, 1);
        ProducerConfigurationData c = new ProducerConfigurationData();
        c.setTopicName(SegmentLog.segments(p.a, t).get(0));
        c.setBatchingEnabled(false);
        c.setChunkingEnabled(true);
        c.setChunkMaxMessageSize(200_000);
        try (Producer<byte[]> producer = p.a.internalClient().createSegmentProducerAsync(c, Schema.BYTES)
                .get(20, TimeUnit.SECONDS)) {
            producer.newMessage().key("k").value(new byte[3 * CAP]).send();
        }
        await(p.a, p.b, t, Duration.ofSeconds(30), (int) Math.ceil(3.0 * CAP / 200_000));
    }
}
