import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from "@grpc/grpc-js";
import { echoMethod } from "./echo-method.js";
import { reportStalls } from "./stalls.js";

/** The floor: a server that nobody attacks, on the same machine. What it is late by is for want of CPU. */
const server = new Server();
server.addService(
  { echo: echoMethod },
  {
    echo: (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) =>
      callback(null, call.request),
  },
);
server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  process.send?.({ address: `127.0.0.1:${port}` });
});
process.on("disconnect", () => process.exit(0));
reportStalls();
