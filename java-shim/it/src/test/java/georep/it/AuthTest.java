// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.common.naming.TopicName;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Who may call, and which broker answers. Two brokers, token authentication, authorization on. */
class AuthTest {
    private static final String TOPIC = "topic://t/auth/x";
    private static final String BASE = "/admin/v2/scalable-repl/";
    private static final String KEY = "{\"segment\":\"0\",\"key\":{\"cluster\":\"z\",\"instance\":\"i\"}}";
    private static Cluster b;
    private static PulsarService second;
    private static String admin;
    private static String user;

    @BeforeAll
    static void start() throws Exception {
        Secrets secrets = Secrets.make(Dirs.fresh());
        admin = secrets.token("admin");
        user = secrets.token("user");
        b = ClusterSpec.named("cluster-b").with(secrets::requireTokens).start(Dirs.fresh());
        Federation.introduce(b);
        Federation.create("t/auth", b);
        Federation.topic(TOPIC, 1, b);
        second = b.addBroker();
    }

    @AfterAll
    static void stop() throws Exception {
        b.close();
    }

    @Test
    void onlySuperUsersMayCall() throws Exception {
        assertThat(b.controller(TOPIC).isLeader()).isTrue();
        for (String path : List.of("t/auth/x/state", "status/t/auth", "status/t/auth/x",
                "t/auth/x/convergence", "t/auth/x/segment/0000-ffff-0", "entries/t/auth/x/0", "t/auth/x/bootstrap",
                "t/auth/x/segment/0000-ffff-0/bootstrap")) {
            assertThat(Http.get(b.broker, BASE + path, null).status()).as("anonymous " + path).isEqualTo(401);
            assertThat(Http.get(b.broker, BASE + path, user).status()).as("user " + path).isIn(401, 403);
            assertThat(Http.get(b.broker, BASE + path, admin).status()).as("admin " + path).isEqualTo(200);
        }
        for (String path : List.of("t/auth/x/state", "t/auth/x/segment/0000-ffff-0/forget", "t/auth/x/pause",
                "t/auth/x/resume", "t/auth/x/reset-cursor", "t/auth/x/segment/0000-ffff-0/pause",
                "t/auth/x/segment/0000-ffff-0/resume", "t/auth/x/segment/0000-ffff-0/begin-anew",
                "t/auth/x/segment/0000-ffff-0/find-entry", "t/auth/x/segment/0000-ffff-0/skip", "exchange",
                "t/auth/x/cancel-mark", "t/auth/x/rebucket", "t/auth/x/start-at", "start-at/t/auth")) {
            assertThat(Http.post(b.broker, BASE + path, null, "{}").status()).as("anonymous " + path).isEqualTo(401);
            assertThat(Http.post(b.broker, BASE + path, user, "{}").status()).as("user " + path).isIn(401, 403);
        }
        assertThat(Http.post(b.broker, BASE + "t/auth/x/watermark", null, KEY).status()).isEqualTo(401);
        assertThat(Http.post(b.broker, BASE + "t/auth/x/watermark", user, KEY).status()).isIn(401, 403);
        assertThat(Http.post(b.broker, BASE + "t/auth/x/watermark", admin, KEY).status()).isEqualTo(200);
    }

    @Test
    void anotherBrokerRedirectsToTheLeaderAndToTheOwner() throws Exception {
        assertThat(b.controller(TOPIC).isLeader()).isTrue();
        assertThat(b.broker.getNamespaceService().isServiceUnitOwned(TopicName.get("segment://t/auth/x/0000-ffff-0")))
                .isTrue();
        String first = b.broker.getWebServiceAddress();
        Http.Answer state = Http.get(second, BASE + "t/auth/x/state", admin);
        assertThat(state.status()).isEqualTo(307);
        assertThat(state.location()).isEqualTo(first + BASE + "t/auth/x/state");
        Http.Answer mark = Http.post(second, BASE + "t/auth/x/watermark", admin, KEY);
        assertThat(mark.status()).isEqualTo(307);
        assertThat(mark.location()).startsWith(first + BASE + "t/auth/x/watermark");
        Http.Answer exchange = Http.post(second, BASE + "exchange", admin, "{\"protocolVersion\":1,\"cluster\":\"z\","
                + "\"states\":[{\"topic\":\"" + TOPIC + "\",\"cluster\":\"z\"}]}");
        assertThat(exchange.status()).as(exchange.body()).isEqualTo(307);
        assertThat(exchange.location()).isEqualTo(first + BASE + "exchange");
        // refused before it is told where to go
        assertThat(Http.get(second, BASE + "t/auth/x/state", user).status()).isIn(401, 403);
    }

    @Test
    void statusReachesEverySegmentThroughTheBrokersThatOwnThem() throws Exception {
        var n = Http.get(b.broker, BASE + "status/t/auth/x", admin).json();
        assertThat(n.path("cluster").asText()).isEqualTo("cluster-b");
        assertThat(n.path("segments")).hasSize(1);
        assertThat(n.path("segments").get(0).path("range").asText()).isEqualTo("0000-ffff");
        assertThat(n.path("segments").get(0).path("broker").asText()).isEqualTo(b.broker.getBrokerId());
        var all = Http.get(b.broker, BASE + "status/t/auth", admin).json();
        assertThat(all.path("topics").get(0).path("topic").asText()).isEqualTo(TOPIC);
        assertThat(Http.get(b.broker, "/metrics/", admin).body())
                .contains("pulsar_georep_usable{cluster=\"cluster-b\"} 1");
    }
}
