// SPDX-License-Identifier: Apache-2.0
package georep.plugin.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import georep.plugin.dest.Mark;
import georep.plugin.dest.OriginKey;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class WatermarkCallTest {
    @Test
    void requestsInBothForms() {
        OriginKey key = new OriginKey("c", "i", 7, -1); // unsigned
        assertThat(WatermarkCall.parse("{\"topic\":\"t\",\"segment\":\"3\",\"key\":{\"cluster\":\"c\","
                + "\"instance\":\"i\",\"segment\":\"7\",\"generation\":\"18446744073709551615\"}}"))
                .isEqualTo(new WatermarkCall.Request(3, key));
        assertThat(WatermarkCall.parse("{\"key\":{\"cluster\":\"c\",\"instance\":\"i\",\"segment\":7}}"))
                .isEqualTo(new WatermarkCall.Request(0, new OriginKey("c", "i", 7, 0)));
    }

    @ParameterizedTest
    @CsvSource(delimiter = ';', value = {"{;body", "'';body", "3;body", "{};key", "{\"key\":1};key",
        "{\"key\":{\"cluster\":\"c\"}};key.instance",
        "{\"key\":{\"cluster\":\"c\",\"instance\":\"i\",\"segment\":\"1x\"}};key.segment"})
    void badOnesNameTheField(String json, String field) {
        assertThatThrownBy(() -> WatermarkCall.parse(json)).hasMessageContaining(field + ":");
    }

    @Test
    void answers() {
        assertThat(WatermarkCall.answer(Optional.empty())).isEqualTo("{\"status\":\"WATERMARK_STATUS_NONE\"}");
        assertThat(WatermarkCall.answer(Optional.of(new Mark(5, 1, 0)))).isEqualTo("{\"status\":"
                + "\"WATERMARK_STATUS_KNOWN\",\"position\":{\"ledger\":\"5\",\"entry\":\"1\"},\"part\":\"0\"}");
        assertThat(WatermarkCall.answer(Optional.of(new Mark(5, 1, Mark.WHOLE)))).doesNotContain("part");
    }
}
