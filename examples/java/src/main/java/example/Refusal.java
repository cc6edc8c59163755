package example;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.BadRequest.FieldViolation;
import com.google.rpc.ErrorInfo;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.util.List;

/** What went wrong, by name, and where in the request. */
record Refusal(String reason, List<String> fields) {
  static Refusal of(StatusRuntimeException error) throws InvalidProtocolBufferException {
    var reason = "";
    var fields = List.<String>of();
    for (var detail : StatusProto.fromThrowable(error).getDetailsList()) {
      if (detail.is(ErrorInfo.class)) {
        reason = detail.unpack(ErrorInfo.class).getReason();
      } else if (detail.is(BadRequest.class)) {
        var violations = detail.unpack(BadRequest.class).getFieldViolationsList();
        fields = violations.stream().map(FieldViolation::getField).toList();
      }
    }
    return new Refusal(reason, fields);
  }
}
