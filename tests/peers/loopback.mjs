// Loaded before the npm peer (`node --import`): it listens on the loopback only, says where on the first line of stdout, and ends with
// its stdin. The peer itself binds every interface, prints to stdout at will and outlives whoever started it.
import net from "node:net";

console.log = console.error;

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ...rest) {
  const path = process.argv.includes("sse") ? "sse" : "mcp";
  this.once("listening", () => process.stdout.write(`http://127.0.0.1:${this.address().port}/${path}\n`));
  return listen.call(this, Number(port), "127.0.0.1", ...rest);
};

process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
process.stdin.on("error", () => process.exit(0));
