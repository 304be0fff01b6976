// SPDX-License-Identifier: Apache-2.0
package georep.plugin.control;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.concurrent.CompletableFuture;

/**
 * A layout change that the local policy or an operator asks for. One that is told to try again is put again until its
 * time is up.
 *
 * @param event     field of ConvergeEvent
 * @param content   that field, without the wish's number
 * @param giveUpAt  milliseconds since 1970
 * @param future    completes when the change is durable; fails with a {@link VerdictException}
 */
record Wish(String event, ObjectNode content, long giveUpAt, CompletableFuture<Void> future) {
}
