// An OAuth token server: npm oidc-provider with rotating refresh tokens, reuse detection and JWT access tokens of a few seconds.
//
// Run by `tests/peers/run token-server`. First line of stdout: its URL, which is the issuer, when it accepts requests. Second and third
// line: a refresh token of each client, made as a person's consent would make it. Then one line for each request to the token
// endpoint: `granted GRANT` or `refused ERROR`. It ends with its stdin.
//
// The clients `lasting` and `brief`, both with the secret `canary-client-secret`: tokens of the first hold an hour, of the second 2 s.
// JWTs are for the audience that fastmcp_reports.py asks for.
import http from "node:http";
import { Provider } from "oidc-provider";

const audience = "http://127.0.0.1/mcp";
const scope = "openid offline_access mcp:read";
// Two seconds are short enough that a test meets a token that has run out, and long enough to be used.
const lifetimes = { lasting: 3600, brief: 2 };
const say = (line) => process.stdout.write(`${line}\n`);
console.log = console.info = console.warn = console.error;

const server = http.createServer((request, response) => provider.callback()(request, response));
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const issuer = `http://127.0.0.1:${server.address().port}`;

const resource = {
  enabled: true,
  defaultResource: () => audience,
  useGrantedResource: () => true,
  getResourceServerInfo: (context, resource, client) => ({
    scope: "mcp:read",
    audience,
    accessTokenFormat: "jwt",
    accessTokenTTL: lifetimes[client.clientId],
  }),
};
const provider = new Provider(issuer, {
  clients: Object.keys(lifetimes).map((id) => ({
    client_id: id,
    client_secret: "canary-client-secret",
    token_endpoint_auth_method: "client_secret_post",
    grant_types: ["client_credentials", "refresh_token", "authorization_code"],
    redirect_uris: ["http://127.0.0.1:9/cb"],
    response_types: ["code"],
    scope,
  })),
  scopes: ["openid", "offline_access", "mcp:read"],
  rotateRefreshToken: true,
  ttl: { RefreshToken: 86400, Grant: 86400, IdToken: 60 },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false }, resourceIndicators: resource },
  cookies: { keys: ["tests"] },
});
provider.on("grant.success", (context) => say(`granted ${context.oidc.params.grant_type}`));
provider.on("grant.error", (_, error) => say(`refused ${error.error}`));

async function consented(id) {
  const client = await provider.Client.find(id);
  const grant = new provider.Grant({ clientId: id, accountId: "operator" });
  grant.addOIDCScope("openid offline_access");
  grant.addResourceScope(audience, "mcp:read");
  const about = { client, accountId: "operator", grantId: await grant.save(), scope, gty: "authorization_code", resource: audience };
  return new provider.RefreshToken(about).save();
}
const tokens = await Promise.all(Object.keys(lifetimes).map(consented));
say(issuer);
tokens.forEach(say);

process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
process.stdin.on("error", () => process.exit(0));
