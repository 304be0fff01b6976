// SPDX-License-Identifier: Apache-2.0
package georep.it;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.apache.pulsar.broker.PulsarService;

/** Plain HTTP to one broker, redirects not followed. */
public final class Http {
    private static final HttpClient CLIENT = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(10)).build();
    private static final ObjectMapper JSON = new ObjectMapper();

    private Http() {
    }

    /** An answer; {@code location} and {@code retryAfter} are null where there is none. */
    public record Answer(int status, String body, String location, String retryAfter) {
        public JsonNode json() throws Exception {
            return JSON.readTree(body);
        }
    }

    public static Answer get(PulsarService broker, String path, String token) throws Exception {
        return send(broker, request(broker, path, token).GET());
    }

    public static Answer post(PulsarService broker, String path, String token, String json) throws Exception {
        return send(broker, request(broker, path, token).header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(json)));
    }

    private static HttpRequest.Builder request(PulsarService broker, String path, String token) {
        HttpRequest.Builder b = HttpRequest.newBuilder(URI.create(Cluster.adminUrl(broker) + path))
                .timeout(Duration.ofSeconds(30));
        return token == null ? b : b.header("Authorization", "Bearer " + token);
    }

    private static Answer send(PulsarService broker, HttpRequest.Builder b) throws Exception {
        HttpClient client = broker.getConfiguration().isBrokerClientTlsEnabled()
                ? trusting(Path.of(broker.getConfiguration().getBrokerClientTrustCertsFilePath())) : CLIENT;
        HttpResponse<String> r = client.send(b.build(), HttpResponse.BodyHandlers.ofString());
        for (int tries = 1; tries < Cluster.LOADS && Cluster.metUnload(r.body()); tries++) {
            Cluster.pause(tries);
            r = client.send(b.build(), HttpResponse.BodyHandlers.ofString());
        }
        return new Answer(r.statusCode(), r.body(), r.headers().firstValue("location").orElse(null),
                r.headers().firstValue("retry-after").orElse(null));
    }

    private static HttpClient trusting(Path pem) throws Exception {
        KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
        trusted.load(null, null);
        try (InputStream in = Files.newInputStream(pem)) {
            trusted.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(in));
        }
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(trusted);
        SSLContext tls = SSLContext.getInstance("TLS");
        tls.init(null, trust.getTrustManagers(), null);
        return HttpClient.newBuilder().sslContext(tls).connectTimeout(Duration.ofSeconds(10)).build();
    }
}
