// SPDX-License-Identifier: Apache-2.0
package georep.it;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import org.apache.pulsar.broker.PulsarService;

/** One HTTP call as no client makes it: its body is not what the header says. */
final class RawCall {
    private static final int WAIT_MILLIS = 30_000;
    private static final int CHUNK = 1 << 16;

    private RawCall() {
    }

    /** Announces so many bytes and sends none of them; the whole response. */
    static String announcing(PulsarService broker, String path, String token, long bytes) throws IOException {
        try (Socket s = open(broker, path, token, "Content-Length: " + bytes)) {
            return response(s);
        }
    }

    /** Sends so many bytes in chunks, announces nothing, and does not end; the whole response. */
    static String endless(PulsarService broker, String path, String token, int bytes) throws IOException {
        try (Socket s = open(broker, path, token, "Transfer-Encoding: chunked")) {
            OutputStream out = s.getOutputStream();
            byte[] spaces = " ".repeat(CHUNK).getBytes(StandardCharsets.US_ASCII);
            for (int left = bytes; left > 0; left -= CHUNK) {
                int n = Math.min(left, CHUNK);
                out.write((Integer.toHexString(n) + "\r\n").getBytes(StandardCharsets.US_ASCII));
                out.write(spaces, 0, n);
                out.write("\r\n".getBytes(StandardCharsets.US_ASCII));
            }
            out.flush();
            return response(s);
        }
    }

    private static Socket open(PulsarService broker, String path, String token, String length) throws IOException {
        URI at = URI.create(broker.getWebServiceAddress());
        Socket s = new Socket(at.getHost(), at.getPort());
        s.setSoTimeout(WAIT_MILLIS);
        s.getOutputStream().write(("POST " + path + " HTTP/1.1\r\nHost: " + at.getAuthority() + "\r\nAuthorization: "
                + "Bearer " + token + "\r\nContent-Type: application/json\r\nConnection: close\r\n" + length
                + "\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
        return s;
    }

    private static String response(Socket s) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        InputStream in = s.getInputStream();
        byte[] b = new byte[CHUNK];
        try {
            for (int n = in.read(b); n >= 0; n = in.read(b)) {
                all.write(b, 0, n);
            }
        } catch (IOException e) {
            if (all.size() == 0) {
                throw e;
            }
        }
        return all.toString(StandardCharsets.UTF_8);
    }
}
