// SPDX-License-Identifier: Apache-2.0
package georep.it;

import io.jsonwebtoken.SignatureAlgorithm;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.time.Instant;
import java.util.Base64;
import java.util.Date;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import javax.crypto.SecretKey;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.broker.authentication.utils.AuthTokenUtils;

/** A certificate for this host, made for this run, and a key that signs tokens: what secured clusters share. */
final class Secrets {
    private static final String PASSWORD = "changeit";

    /** The certificate, which vouches for itself; PEM. */
    final Path certificate;
    final Path privateKey;
    private final SecretKey key = AuthTokenUtils.createSecretKey(SignatureAlgorithm.HS256);

    private Secrets(Path certificate, Path privateKey) {
        this.certificate = certificate;
        this.privateKey = privateKey;
    }

    static Secrets make(Path dir) throws Exception {
        Files.createDirectories(dir);
        Path store = dir.resolve("store.p12");
        Process p = new ProcessBuilder(List.of(Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair", "-alias", "broker", "-keyalg", "RSA", "-keysize", "2048", "-dname", "CN=georep test",
                "-ext", "san=ip:127.0.0.1,dns:localhost", "-ext", "bc:critical=ca:true", "-validity", "30",
                "-storetype", "PKCS12", "-keystore", store.toString(), "-storepass", PASSWORD)).inheritIO().start();
        if (!p.waitFor(1, TimeUnit.MINUTES) || p.exitValue() != 0) {
            throw new IOException("keytool made no certificate");
        }
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(store)) {
            keys.load(in, PASSWORD.toCharArray());
        }
        return new Secrets(pem(dir.resolve("broker.cert.pem"), "CERTIFICATE",
                keys.getCertificate("broker").getEncoded()), pem(dir.resolve("broker.key.pem"), "PRIVATE KEY",
                privateKey(keys)));
    }

    private static byte[] privateKey(KeyStore keys) throws GeneralSecurityException {
        return keys.getKey("broker", PASSWORD.toCharArray()).getEncoded();
    }

    private static Path pem(Path file, String what, byte[] bytes) throws IOException {
        return Files.writeString(file, "-----BEGIN " + what + "-----\n" + Base64.getMimeEncoder(64, new byte[]{'\n'})
                .encodeToString(bytes) + "\n-----END " + what + "-----\n", StandardCharsets.US_ASCII);
    }

    /** A token of this role. */
    String token(String role) {
        return AuthTokenUtils.createToken(key, role, Optional.empty());
    }

    /** One that is good until then. */
    String token(String role, Instant until) {
        return AuthTokenUtils.createToken(key, role, Optional.of(Date.from(until)));
    }

    /** Token authentication and authorization; "admin" is the super-user and the brokers' own role. */
    void requireTokens(ServiceConfiguration c) {
        c.setAuthenticationEnabled(true);
        c.setAuthorizationEnabled(true);
        c.setAuthenticationProviders(Set.of("org.apache.pulsar.broker.authentication.AuthenticationProviderToken"));
        c.getProperties().setProperty("tokenSecretKey",
                "data:;base64," + Base64.getEncoder().encodeToString(key.getEncoded()));
        c.setSuperUserRoles(Set.of("admin"));
        c.setBrokerClientAuthenticationPlugin("org.apache.pulsar.client.impl.auth.AuthenticationToken");
        c.setBrokerClientAuthenticationParameters("token:" + token("admin"));
    }

    /** Ports that speak TLS and no others; brokers use them, too. */
    void requireTls(ServiceConfiguration c) {
        c.setBrokerServicePort(Optional.empty());
        c.setWebServicePort(Optional.empty());
        c.setBrokerServicePortTls(Optional.of(0));
        c.setWebServicePortTls(Optional.of(0));
        c.setWebServiceTlsProvider("");
        c.setTlsCertificateFilePath(certificate.toString());
        c.setTlsKeyFilePath(privateKey.toString());
        c.setTlsTrustCertsFilePath(certificate.toString());
        c.setBrokerClientTlsEnabled(true);
        c.setBrokerClientTrustCertsFilePath(certificate.toString());
        c.setTlsHostnameVerificationEnabled(true);
    }
}
