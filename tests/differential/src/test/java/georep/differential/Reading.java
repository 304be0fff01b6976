// SPDX-License-Identifier: Apache-2.0
package georep.differential;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.apache.pulsar.common.api.proto.MessageMetadata;

/**
 * What Pulsar's own classes make of an entry.
 *
 * @param stage how far they came
 * @param cause what stopped them, or ""
 * @param metadata the decoded metadata, null before stage PAYLOAD
 * @param metadataBytes the bytes that the frame declares as metadata, null where the frame is broken
 * @param checksumValid the checksum is right, or there is none
 * @param payload what follows the metadata
 * @param plain the payload decompressed, null before stage MESSAGES
 * @param messages the messages, null unless stage DONE
 * @param left bytes behind the last message
 */
record Reading(Stage stage, String cause, MessageMetadata metadata, byte[] metadataBytes, boolean checksumValid,
               byte[] payload, byte[] plain, List<Message> messages, int left) {
    /** Steps of reading; an entry stops at the first that is refused. */
    enum Stage { METADATA, PAYLOAD, MESSAGES, DONE }

    /** Content of one message. Absent keys and numbers are null. */
    record Message(String key, boolean b64, byte[] orderingKey, List<String> properties, byte[] body, Long eventTime,
                   Long sequenceId, boolean nullValue, boolean nullKey, boolean compactedOut) {
        @Override
        public boolean equals(Object o) {
            return o instanceof Message m && Objects.equals(key, m.key) && b64 == m.b64
                    && Arrays.equals(orderingKey, m.orderingKey) && properties.equals(m.properties)
                    && Arrays.equals(body, m.body) && Objects.equals(eventTime, m.eventTime)
                    && Objects.equals(sequenceId, m.sequenceId) && nullValue == m.nullValue && nullKey == m.nullKey
                    && compactedOut == m.compactedOut;
        }

        @Override
        public int hashCode() {
            return Objects.hash(key, Arrays.hashCode(body), sequenceId);
        }

        @Override
        public String toString() {
            return "key=" + key + " b64=" + b64 + " ordering=" + Arrays.toString(orderingKey) + " " + properties
                    + " at=" + eventTime + " seq=" + sequenceId + " null=" + nullValue + "/" + nullKey + " out="
                    + compactedOut + " " + body.length + " bytes";
        }

        boolean keyed() {
            return key != null || orderingKey != null;
        }
    }

    boolean isBatch() {
        return metadata.hasNumMessagesInBatch();
    }

    boolean isEncrypted() {
        return metadata.getEncryptionKeysCount() > 0;
    }

    boolean isChunk() {
        return metadata.hasNumChunksFromMsg() && metadata.getNumChunksFromMsg() > 1;
    }

    int codec() {
        return metadata.getCompression().getValue();
    }
}
