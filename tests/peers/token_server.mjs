// An OAuth token server: npm oidc-provider with rotating refresh tokens, reuse detection and JWT access tokens of a few seconds.
//
// Run by `tests/peers/run token-server`. First line of stdout: its URL, which is the issuer, when it accepts requests. Second line: a
// refresh token, made as a person's consent would make it. Then one line for each request to the token endpoint: `granted GRANT` or
// `refused ERROR`. It ends with its stdin.
//
// Client `svc` with secret `canary-client-secret`; JWTs are for the audience that fastmcp_reports.py asks for.
import http from "node:http";
import { Provider } from "oidc-provider";

const audience = "http://127.0.0.1/mcp";
const scope = "openid offline_access mcp:read";
// Short enough that a test meets a token that has run out, and long enough to be used.
const seconds = 2;
const say = (line) => process.stdout.write(`${line}\n`);
console.log = console.warn = console.error;

const server = http.createServer((request, response) => provider.callback()(request, response));
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const issuer = `http://127.0.0.1:${server.address().port}`;

const resource = {
  enabled: true,
  defaultResource: () => audience,
  useGrantedResource: () => true,
  getResourceServerInfo: () => ({ scope: "mcp:read", audience, accessTokenFormat: "jwt", accessTokenTTL: seconds }),
};
const provider = new Provider(issuer, {
  clients: [
    {
      client_id: "svc",
      client_secret: "canary-client-secret",
      token_endpoint_auth_method: "client_secret_post",
      grant_types: ["client_credentials", "refresh_token", "authorization_code"],
      redirect_uris: ["http://127.0.0.1:9/cb"],
      response_types: ["code"],
      scope,
    },
  ],
  scopes: ["openid", "offline_access", "mcp:read"],
  rotateRefreshToken: true,
  ttl: { ClientCredentials: seconds, AccessToken: seconds, RefreshToken: 3600, Grant: 3600, IdToken: 60 },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false }, resourceIndicators: resource },
  cookies: { keys: ["tests"] },
});
provider.on("grant.success", (context) => say(`granted ${context.oidc.params.grant_type}`));
provider.on("grant.error", (_, error) => say(`refused ${error.error}`));

const client = await provider.Client.find("svc");
const grant = new provider.Grant({ clientId: "svc", accountId: "operator" });
grant.addOIDCScope("openid offline_access");
grant.addResourceScope(audience, "mcp:read");
const token = new provider.RefreshToken({
  client,
  accountId: "operator",
  grantId: await grant.save(),
  scope,
  gty: "authorization_code",
  resource: audience,
});
const refresh = await token.save();
say(issuer);
say(refresh);

process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
process.stdin.on("error", () => process.exit(0));
