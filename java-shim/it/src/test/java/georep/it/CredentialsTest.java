// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.assertCopied;
import static georep.it.SourcePair.backlogs;
import static georep.it.SourcePair.status;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import georep.it.SourcePair.Rise;
import java.net.SocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import javax.naming.AuthenticationException;
import javax.net.ssl.SSLSession;
import org.apache.logging.log4j.Level;
import org.apache.pulsar.broker.authentication.AuthenticationProviderToken;
import org.apache.pulsar.broker.authentication.AuthenticationState;
import org.apache.pulsar.client.impl.auth.AuthenticationToken;
import org.apache.pulsar.common.api.AuthData;
import org.apache.pulsar.common.policies.data.ClusterData;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** B wants tokens; the one that A has for it expires, or never was any good. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class CredentialsTest {
    private static final String DENIED = "cluster-b refuses this cluster's credentials: ";
    private static final Duration LIFE = Duration.ofSeconds(10);

    private final Path dir = Dirs.fresh();
    private Secrets secrets;
    private Cluster a;
    private Cluster b;

    @BeforeAll
    void start() throws Exception {
        secrets = Secrets.make(dir);
        a = ClusterSpec.named("cluster-a").apart().key("georepStallSeconds", 1).key("georepIdleProducerSeconds", 2)
                .start(Dirs.fresh());
        b = ClusterSpec.named("cluster-b").apart().with(secrets::requireTokens).with(c -> {
            c.setAuthenticationRefreshCheckSeconds(1);
            c.setAuthenticationProviders(Set.of(NoNewConnections.class.getName()));
        }).start(Dirs.fresh());
        Federation.of("auth/ns", a, b);
    }

    /** Takes tokens, but on demand none of the binary protocol's new connections. */
    public static final class NoNewConnections extends AuthenticationProviderToken {
        static volatile boolean on;

        @Override
        public AuthenticationState newAuthState(AuthData data, SocketAddress from, SSLSession tls)
                throws AuthenticationException {
            if (on) {
                throw new AuthenticationException("no new connections");
            }
            return super.newAuthState(data, from, tls);
        }
    }

    @AfterAll
    void stop() throws Exception {
        a.close();
        b.close();
    }

    private String topic(String name) throws Exception {
        String t = "topic://auth/ns/" + name;
        Federation.topic(t, 2, a);
        Federation.topic(t, 3, b);
        return t;
    }

    /** What A shows at B: "token:…" or "file://…". */
    private void credentials(String parameters) throws Exception {
        a.admin().clusters().updateCluster(b.name, ClusterData.builder().serviceUrl(b.addresses().getServiceUrl())
                .brokerServiceUrl(b.addresses().getBrokerServiceUrl())
                .authenticationPlugin(AuthenticationToken.class.getName()).authenticationParameters(parameters)
                .build());
    }

    private void assertDenied(String topic, String state, String stallReason) {
        Awaitility.await().atMost(Duration.ofSeconds(40)).untilAsserted(() -> {
            JsonNode all = status(a, topic);
            assertThat(all).as("%s", all).isNotEmpty().allSatisfy(s -> {
                assertThat(s.path("remoteStatus").asText()).startsWith(DENIED);
                assertThat(s.path("trouble").asText()).contains(DENIED);
                assertThat(s.path("window").path("state").asText()).isEqualTo(state);
                assertThat(s.path("stallReason").asText()).isEqualTo(stallReason);
                assertThat(s.path("backlog").asLong()).isPositive();
            });
        });
    }

    private void assertWell(String topic) {
        Awaitility.await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> {
            JsonNode all = status(a, topic);
            assertThat(all).as("%s", all).isNotEmpty().allSatisfy(s -> {
                assertThat(s.path("remoteStatus").asText()).isEqualTo("supported");
                assertThat(s.path("trouble").asText()).isEmpty();
                assertThat(s.path("stalled").asBoolean()).isFalse();
            });
        });
    }

    @Test
    void aTokenThatExpiresUnderLoad() throws Exception {
        Instant until = Instant.now().plus(LIFE);
        credentials("token:" + secrets.token("admin", until));
        String t = topic("expires");
        Rise r = new Rise(a, b, "parts");
        try (LogLines log = LogLines.of("georep.plugin.source.RemoteTopic", Level.WARN);
                Traffic x = Traffic.start(a, t, 50, 0, 500)) {
            Awaitility.await().atMost(LIFE).until(() -> r.of("parts") > 0);
            assertDenied(t, "denied", "credentials");
            assertThat(Instant.now()).as("not before it expired").isAfter(until);
            x.more(1000);
            assertThat(log.with(t).stream().filter(l -> l.contains(DENIED))).as("told, and not again and again")
                    .hasSizeBetween(1, 4);
            credentials("token:" + secrets.token("admin"));
            x.more(500);
            x.finish();
        }
        assertCopied(a, b, t);
        assertWell(t);
    }

    /** A file's token is read again, so whoever replaces it need not touch the clusters. */
    @Test
    void aTokenOfAnotherKeyAndOneOfAnotherRole() throws Exception {
        Path file = dir.resolve("token");
        Files.writeString(file, Secrets.make(dir.resolve("others")).token("admin"));
        credentials("file://" + file.toAbsolutePath());
        String t = topic("file");
        Rise r = new Rise(a, b, "parts");
        Publish.v5(a, t, 0, 1000, 50);
        assertDenied(t, "denied", "credentials");
        Files.writeString(file, secrets.token("user"));
        Awaitility.await().atMost(Duration.ofSeconds(40)).untilAsserted(() -> assertThat(status(a, t).findValuesAsText(
                "remoteStatus")).allMatch(s -> s.startsWith(DENIED) && s.contains("super-user")));
        assertThat(r.of("parts")).as("nothing is sent to who refuses us").isZero();
        assertThat(backlogs(a, t, b.name)).isNotEqualTo(List.of(0L, 0L));
        Files.writeString(file, secrets.token("admin"));
        assertCopied(a, b, t);
        assertThat(r.of("parts")).isPositive();
        assertWell(t);
    }

    /** The handshake goes by HTTP and is answered. */
    @Test
    void onlyProducersAreRefused() throws Exception {
        NoNewConnections.on = true;
        credentials("token:" + secrets.token("admin", Instant.now().plus(Duration.ofHours(1))));
        String t = topic("producers");
        Publish.v5(a, t, 0, 1000, 50);
        assertDenied(t, "replicating", "remote");
        NoNewConnections.on = false;
        assertCopied(a, b, t);
        assertWell(t);
    }
}
