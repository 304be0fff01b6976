// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.scalable;

import georep.plugin.control.VerdictException;
import jakarta.ws.rs.core.Response;
import org.apache.pulsar.broker.web.RestException;
import org.apache.pulsar.common.util.FutureUtil;

/** How an operator who asked for a split or merge is told what came of it. */
final class OperatorVerdict {
    private OperatorVerdict() {
    }

    /** The same failure, with a status and a text where it is a verdict. */
    static Void thrown(Throwable e) {
        Throwable cause = FutureUtil.unwrapCompletionException(e);
        throw FutureUtil.wrapToCompletionException(cause instanceof VerdictException v
                ? new RestException(status(v.code()), v.getMessage()) : cause);
    }

    private static Response.Status status(String code) {
        return switch (code) {
            case "CONVERGE_CODE_MARKED" -> Response.Status.ACCEPTED;
            case "CONVERGE_CODE_NOT_LEADER", "CONVERGE_CODE_BUSY", "CONVERGE_CODE_WAITING" ->
                    Response.Status.SERVICE_UNAVAILABLE;
            case "CONVERGE_CODE_FAILED" -> Response.Status.INTERNAL_SERVER_ERROR;
            default -> Response.Status.PRECONDITION_FAILED;
        };
    }
}
