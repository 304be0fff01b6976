// SPDX-License-Identifier: Apache-2.0
package georep.plugin.http;

import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.container.ContainerRequestFilter;
import jakarta.ws.rs.core.HttpHeaders;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import org.apache.pulsar.broker.web.RestException;

/**
 * Bounds the body of every call: one that announces more than the cap is refused before a byte of it is read, one that
 * announces nothing when it has come to the cap.
 */
public final class BodyLimit implements ContainerRequestFilter {
    /** The largest exchange that the core makes is below it, as JSON. */
    static final int MAX_BYTES = 8 << 20;
    private static final int TOO_LARGE = 413;
    private static final int LONG_DIGITS = 18;

    @Override
    public void filter(ContainerRequestContext request) {
        String length = request.getHeaderString(HttpHeaders.CONTENT_LENGTH);
        // digits only: the web server has looked
        if (length != null && (length.length() > LONG_DIGITS || Long.parseLong(length) > MAX_BYTES)) {
            throw tooLarge();
        }
        request.setEntityStream(new Bounded(request.getEntityStream()));
    }

    private static RestException tooLarge() {
        return new RestException(TOO_LARGE, "body: more than " + MAX_BYTES + " bytes");
    }

    private static final class Bounded extends FilterInputStream {
        private int left = MAX_BYTES;

        Bounded(InputStream in) {
            super(in);
        }

        @Override
        public int read() throws IOException {
            int b = in.read();
            took(b < 0 ? 0 : 1);
            return b;
        }

        @Override
        public int read(byte[] b, int off, int len) throws IOException {
            int n = in.read(b, off, len);
            took(Math.max(0, n));
            return n;
        }

        @Override
        public long skip(long n) throws IOException {
            long skipped = in.skip(Math.min(n, (long) left + 1));
            took((int) skipped);
            return skipped;
        }

        @Override
        public boolean markSupported() {
            return false;
        }

        private void took(int n) {
            left -= n;
            if (left < 0) {
                throw tooLarge();
            }
        }
    }
}
