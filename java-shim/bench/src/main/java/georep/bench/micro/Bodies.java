// SPDX-License-Identifier: Apache-2.0
package georep.bench.micro;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Locale;
import java.util.SplittableRandom;

/**
 * Message bodies of a given size, the same in every run. "json" is what applications send: field names repeat, ids,
 * hex strings and amounts do not. "random" is what no codec can shorten.
 */
final class Bodies {
    private static final String[] FIRST = {"Anna", "Bela", "Chiara", "David", "Elif", "Farid", "Greta", "Hugo", "Ines",
        "Jonas", "Katarzyna", "Liam", "Mei", "Nora", "Oskar", "Priya"};
    private static final String[] LAST = {"Almeida", "Berg", "Costa", "Dubois", "Eriksen", "Fischer", "Garcia",
        "Haddad", "Ivanov", "Jensen", "Kowalski", "Laurent", "Moreau", "Novak", "Okafor", "Park"};
    private static final String[] STATES = {"created", "paid", "packed", "shipped", "delivered", "returned"};
    private static final String[] CURRENCIES = {"EUR", "USD", "GBP", "JPY"};
    private static final long EPOCH_MILLIS = 1_764_470_000_000L;

    private final SplittableRandom random;
    private final boolean json;
    private long clock = EPOCH_MILLIS;

    /** @param content "json" or "random" */
    Bodies(String content, long seed) {
        this.json = content.equals("json");
        this.random = new SplittableRandom(seed);
    }

    byte[] next(int bytes) {
        byte[] body = new byte[bytes];
        if (json) {
            System.arraycopy(document(bytes), 0, body, 0, bytes);
        } else {
            random.nextBytes(body);
        }
        return body;
    }

    /** At least so many bytes of one order; what is above them is cut off. */
    private byte[] document(int bytes) {
        StringBuilder s = new StringBuilder(bytes + 256);
        clock += random.nextInt(40);
        s.append("{\"orderId\":\"").append(hex(12)).append("\",\"timestamp\":").append(clock)
                .append(",\"customer\":{\"id\":").append(random.nextInt(1_000_000)).append(",\"name\":\"")
                .append(pick(FIRST)).append(' ').append(pick(LAST)).append("\"},\"state\":\"").append(pick(STATES))
                .append("\",\"currency\":\"").append(pick(CURRENCIES)).append("\",\"items\":[");
        while (s.length() < bytes) {
            s.append("{\"sku\":\"").append(hex(8)).append("\",\"quantity\":").append(1 + random.nextInt(12))
                    .append(",\"price\":").append(String.format(Locale.ROOT, "%.2f", random.nextDouble(0.5, 900)))
                    .append(",\"warehouse\":\"").append(pick(LAST).toLowerCase(Locale.ROOT)).append('-')
                    .append(random.nextInt(40)).append("\",\"trace\":\"").append(hex(16)).append("\"},");
        }
        return s.toString().getBytes(UTF_8);
    }

    private String pick(String[] from) {
        return from[random.nextInt(from.length)];
    }

    private String hex(int digits) {
        StringBuilder s = new StringBuilder(digits);
        for (int i = 0; i < digits; i++) {
            s.append(Character.forDigit(random.nextInt(16), 16));
        }
        return s.toString();
    }
}
