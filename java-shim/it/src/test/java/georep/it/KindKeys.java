// SPDX-License-Identifier: Apache-2.0
package georep.it;

import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.util.Base64;

/** A key pair for end-to-end encryption, in files. */
record KindKeys(Path publicKey, Path privateKey) {
    static KindKeys make(Path dir) throws Exception {
        Files.createDirectories(dir);
        KeyPairGenerator g = KeyPairGenerator.getInstance("RSA");
        g.initialize(2048);
        KeyPair pair = g.generateKeyPair();
        return new KindKeys(pem(dir.resolve("public.pem"), "PUBLIC KEY", pair.getPublic().getEncoded()),
                pem(dir.resolve("private.pem"), "PRIVATE KEY", pair.getPrivate().getEncoded()));
    }

    private static Path pem(Path file, String title, byte[] key) throws Exception {
        String text = Base64.getMimeEncoder(64, new byte[]{'\n'}).encodeToString(key);
        return Files.writeString(file, "-----BEGIN " + title + "-----\n" + text + "\n-----END " + title + "-----\n")
                .toAbsolutePath();
    }
}
