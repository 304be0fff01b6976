// SPDX-License-Identifier: Apache-2.0
package georep.plugin.control;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.concurrent.CompletableFuture;

/** What a {@link ConvergeDriver} has done for it: the topic's controller. All messages are proto3 JSON. */
public interface ConvergeHost {
    /** False: another broker leads the topic, and the machine is told to resign. */
    boolean leads();

    /** The topic's record as the store has it now, as JSON. */
    CompletableFuture<String> stored();

    /** One ConvergeMutation, all of it or nothing; the record that is stored then. */
    CompletableFuture<String> change(JsonNode mutation);

    /** Whether no segment that the layout of this epoch has sealed has a backlog left towards any remote. */
    CompletableFuture<Boolean> drained(long epoch);
}
