// SPDX-License-Identifier: Apache-2.0
package georep.bench.micro;

/**
 * What one entry holds.
 *
 * @param messages     in the batch
 * @param messageBytes of each one's body
 */
record Shape(int messages, int messageBytes) {
    /** From "1000x1KiB" or "1000x100B". */
    static Shape of(String name) {
        String[] parts = name.split("x");
        return new Shape(Integer.parseInt(parts[0]), bytes(parts[1]));
    }

    /** From "64KiB", "1MiB" or "100B". */
    static int bytes(String name) {
        int digits = name.length();
        while (!Character.isDigit(name.charAt(digits - 1))) {
            digits--;
        }
        int n = Integer.parseInt(name.substring(0, digits));
        return switch (name.substring(digits)) {
            case "B" -> n;
            case "KiB" -> n << 10;
            case "MiB" -> n << 20;
            default -> throw new IllegalArgumentException(name);
        };
    }
}
