// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.assertCopied;
import static georep.it.SourcePair.status;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.jsonwebtoken.SignatureAlgorithm;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.Date;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import javax.crypto.SecretKey;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.broker.authentication.utils.AuthTokenUtils;
import org.apache.pulsar.common.policies.data.ClusterData;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The token with which A's broker writes to B expires, and is renewed late. */
@Tag("slow")
class FaultTokenTest {
    private static final int VALID_SECONDS = 8;

    private final SecretKey key = AuthTokenUtils.createSecretKey(SignatureAlgorithm.HS256);

    private void secured(ServiceConfiguration c) {
        c.setAuthenticationEnabled(true);
        c.setAuthorizationEnabled(true);
        c.setAuthenticationRefreshCheckSeconds(1);
        c.setAuthenticationProviders(Set.of("org.apache.pulsar.broker.authentication.AuthenticationProviderToken"));
        c.getProperties().setProperty("tokenSecretKey",
                "data:;base64," + Base64.getEncoder().encodeToString(key.getEncoded()));
        c.setSuperUserRoles(Set.of("admin"));
        c.setBrokerClientAuthenticationPlugin("org.apache.pulsar.client.impl.auth.AuthenticationToken");
        c.setBrokerClientAuthenticationParameters("token:" + token(Optional.empty()));
    }

    private String token(Optional<Date> until) {
        return AuthTokenUtils.createToken(key, "admin", until);
    }

    @Test
    @Timeout(value = 120, unit = TimeUnit.SECONDS)
    void anExpiredTokenStopsReplicationUntilItIsRenewed() throws Exception {
        Path dir = Dirs.fresh();
        Files.createDirectories(dir);
        Path file = Files.writeString(dir.resolve("token"),
                token(Optional.of(Date.from(Instant.now().plusSeconds(60)))));
        try (Cluster a = ClusterSpec.named("cluster-a").key("georepHandshakeRetrySeconds", 2)
                .key("georepStallSeconds", 2).start(Dirs.fresh());
                Cluster b = ClusterSpec.named("cluster-b").with(this::secured).start(Dirs.fresh())) {
            Federation.introduce(a, b);
            a.admin().clusters().updateCluster(b.name, ClusterData.builder().serviceUrl(b.broker.getWebServiceAddress())
                    .brokerServiceUrl(b.broker.getBrokerServiceUrl())
                    .authenticationPlugin("org.apache.pulsar.client.impl.auth.AuthenticationToken")
                    .authenticationParameters("file://" + file.toAbsolutePath()).build());
            Federation.create("t/ns", a, b);
            for (Cluster c : new Cluster[]{a, b}) {
                Federation.replicate(c, "t/ns", Set.of(a.name, b.name));
            }
            String t = "topic://t/ns/x";
            Federation.topic(t, 1, a);
            Federation.topic(t, 2, b);
            Publish.v5(a, t, 0, 100, 10);
            assertCopied(a, b, t);
            Files.writeString(file, token(Optional.of(Date.from(Instant.now().plusSeconds(VALID_SECONDS)))));
            SourceConnections.cut(b); // connects with that one
            try (Traffic x = Traffic.start(a, t, 50, 100)) {
                JsonNode[] s = new JsonNode[1];
                Awaitility.await().atMost(Duration.ofSeconds(60)).until(() -> {
                    s[0] = status(a, t).get(0);
                    return s[0].path("stalled").asBoolean();
                });
                assertThat(s[0].path("remoteStatus").asText() + s[0].path("trouble").asText()).as("%s", s[0])
                        .matches("(?is).*(token|401|auth|session ended).*");
                Files.writeString(file, token(Optional.empty()));
                x.finish();
            }
            assertCopied(a, b, t);
        }
    }
}
