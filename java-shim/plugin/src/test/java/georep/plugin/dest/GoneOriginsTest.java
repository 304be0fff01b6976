// SPDX-License-Identifier: Apache-2.0
package georep.plugin.dest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Set;
import org.junit.jupiter.api.Test;

class GoneOriginsTest {
    private static JsonNode json(String s) throws Exception {
        return new ObjectMapper().readTree(s.replace('\'', '"'));
    }

    @Test
    void onlyWhatTheOriginHasNoMore() throws Exception {
        GoneOrigins says = GoneOrigins.ofState(json("{'cluster':'a','instance':'i2','layout':{'segments':"
                + "[{'range':{}},{'id':'4'},{'id':'7'}]}}"));
        assertThat(says).isEqualTo(new GoneOrigins("a", "i2", Set.of(0L, 4L, 7L)));
        JsonNode status = json("{'boundTopic':'x','entries':["
                + "{'key':{'cluster':'a','instance':'i2','generation':'1'}},"             // segment 0: there
                + "{'key':{'cluster':'a','instance':'i2','segment':'4','generation':'1'}},"
                + "{'key':{'cluster':'a','instance':'i2','segment':'3','generation':'2'}}," // gone
                + "{'key':{'cluster':'a','instance':'i2','segment':'8','generation':'1'}}," // newer than the answer
                + "{'key':{'cluster':'a','instance':'i1','segment':'4','generation':'9'}}," // an earlier life
                + "{'key':{'cluster':'b','instance':'i1','segment':'3','generation':'1'}}]}"); // another cluster
        assertThat(says.among(status)).containsExactly(new OriginKey("a", "i2", 3, 2), new OriginKey("a", "i1", 4, 9));
        assertThat(says.among(json("{}"))).isEmpty();
    }

    @Test
    void aStateThatSaysNothingForgetsNothing() throws Exception {
        for (String s : new String[] {"{}", "{'cluster':'a','instance':'i'}",
            "{'cluster':'a','layout':{'segments':[{'id':'1'}]}}",
            "{'instance':'i','layout':{'segments':[{'id':'1'}]}}"}) {
            assertThatThrownBy(() -> GoneOrigins.ofState(json(s))).as(s).isInstanceOf(IllegalArgumentException.class);
        }
    }
}
