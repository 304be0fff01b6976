// SPDX-License-Identifier: Apache-2.0
package georep.plugin;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import georep.nativelib.Converge;
import georep.nativelib.Json;
import java.util.List;
import org.junit.jupiter.api.Test;

class ConvergeMetricsTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String TOPIC = "topic://t/n/x";

    /** What the core says of its peers after so long, of which "heard" has told its state at 700 s. */
    private static List<ConvergeMetrics.Peer> peersAt(long millis) throws Exception {
        try (Converge c = Converge.open(Json.toProto("ConvergeConfig", "{\"cluster\":\"us\",\"topic\":\"" + TOPIC
                + "\"}"))) {
            step(c, 0, "{\"stored\":" + JSON.writeValueAsString("""
                    {"epoch":1,"properties":{"georep.instance":"aa"},"segments":{"0":
                     {"segmentId":0,"hashRange":{"start":0,"end":65535},"state":"ACTIVE"}}}""") + "}");
            step(c, 0, "{\"members\":{\"clusters\":[\"us\",\"dead\",\"heard\"]}}");
            step(c, 0, "{\"lead\":{\"term\":\"1\"}}");
            step(c, 700_000, """
                    {"received":{"token":"5","state":{"cluster":"heard","instance":"bb","epoch":"3",
                     "caps":{"maxSegments":8,"maxBuckets":8},"shape":{"profile":"PROFILE_M1","segments":[{}]}}}}""");
            JsonNode peers = JSON.readTree(Json.fromProto("ConvergeStatus", c.status(millis))).path("peers");
            return List.of(new ConvergeMetrics.Peer(TOPIC, "dead", peers.path(0)),
                    new ConvergeMetrics.Peer(TOPIC, "heard", peers.path(1)));
        }
    }

    private static void step(Converge c, long now, String event) throws Exception {
        c.step(Json.toProto("ConvergeEvent", ((ObjectNode) JSON.readTree(event)).put("nowMillis", now).toString()));
    }

    /** An alarm on the age has to catch the cluster that has been dead since before this leader leads. */
    @Test
    void whoWasNeverHeardIsOlderThanWhoWas() throws Exception {
        List<ConvergeMetrics.Peer> peers = peersAt(900_000);
        assertThat(peers.get(0).status().path("cluster").asText()).isEqualTo("dead");
        assertThat(peers.get(0).status().path("ageMillis").asLong()).isEqualTo(-1);
        assertThat(peers.get(0).silentSeconds()).isEqualTo(900);
        assertThat(peers.get(1).silentSeconds()).isEqualTo(200);
    }
}
