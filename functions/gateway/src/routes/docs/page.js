"use strict";
// Shows openapi.json, which stands beside this page. Everything is put in as text, never as markup.
(() => {
  const METHODS = ["get", "put", "post", "delete", "patch"];
  const DEEPEST = 6;
  // The body of every error; shown once.
  const ERROR = "#/components/schemas/Detail";

  const make = (name, attributes, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes ?? {})) element.setAttribute(key, value);
    element.append(...children.filter((child) => child !== undefined && child !== null));
    return element;
  };
  const code = (text) => make("code", {}, text);
  // What stands between backticks is code.
  const prose = (text) => make("span", {}, ...(text ?? "").split("`").map((part, at) => (at % 2 ? code(part) : part)));
  const place = (id) => document.getElementById(id);

  const resolve = (contract, thing) => {
    if (!thing?.$ref) return thing;
    return thing.$ref.split("/").slice(1).reduce((at, step) => at?.[step.replaceAll("~1", "/").replaceAll("~0", "~")], contract);
  };

  // The parts of a schema that hold together, as one object.
  const whole = (contract, schema) => {
    const found = resolve(contract, schema) ?? {};
    if (!found.allOf) return found;
    const parts = found.allOf.map((part) => whole(contract, part));
    return {
      ...found,
      ...Object.assign({}, ...parts),
      properties: Object.assign({}, ...parts.map((part) => part.properties), found.properties),
      required: [...parts.flatMap((part) => part.required ?? []), ...(found.required ?? [])],
    };
  };

  const choices = (schema) => schema.oneOf ?? schema.anyOf;

  const word = (contract, schema) => {
    const found = whole(contract, schema);
    if (found.const !== undefined) return JSON.stringify(found.const);
    if (found.enum) return found.enum.map((value) => JSON.stringify(value)).join(" | ");
    if (choices(found)) return [...new Set(choices(found).map((one) => word(contract, one)))].join(" | ");
    const types = [found.type ?? (found.properties ? "object" : "any JSON")].flat();
    const shown = types.map((type) => (type === "array" && found.items ? `array of ${word(contract, found.items)}` : type));
    return shown.join(" | ") + (found.format ? ` (${found.format})` : "");
  };

  const limits = (schema) =>
    ["minimum", "maximum", "minLength", "maxLength", "pattern", "default"]
      .filter((key) => schema[key] !== undefined)
      .map((key) => `${key} ${typeof schema[key] === "string" ? schema[key] : JSON.stringify(schema[key])}`)
      .join(", ");

  const note = (...texts) => prose(texts.filter(Boolean).join(" · "));

  const table = (heads, rows) =>
    make("div", { class: "scroll" }, make("table", {},
      make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, ...rows.map((cells) => make("tr", {}, ...cells.map((cell) => make("td", {}, cell)))))));

  // Every field of a schema, with the path to it.
  const fields = (contract, schema, prefix, depth, rows) => {
    const found = whole(contract, schema);
    if (depth > DEEPEST) return rows;
    for (const [name, inner] of Object.entries(found.properties ?? {})) {
      const needed = (found.required ?? []).includes(name) ? "" : "optional";
      const at = prefix + name;
      const seen = whole(contract, inner);
      rows.push([code(at), code(word(contract, inner)), note(needed, inner.description ?? seen.description, limits(seen))]);
      fields(contract, inner, `${at}.`, depth + 1, rows);
    }
    if (found.items) fields(contract, found.items, `${prefix.replace(/\.$/, "")}[].`, depth + 1, rows);
    if (typeof found.additionalProperties === "object") {
      fields(contract, found.additionalProperties, `${prefix}*.`, depth + 1, rows);
    }
    for (const one of choices(found) ?? []) fields(contract, one, prefix, depth + 1, rows);
    return rows;
  };

  const content = (contract, body) =>
    Object.entries(resolve(contract, body)?.content ?? {}).flatMap(([kind, { schema }]) => {
      const rows = fields(contract, schema, "", 0, []);
      return [
        make("p", {}, code(kind), " ", code(word(contract, schema))),
        rows.length ? table(["field", "type", "what"], rows) : undefined,
      ];
    });

  const role = (contract, operation) => {
    const needs = operation.security ?? contract.security ?? [];
    if (!needs.length || needs.some((need) => !Object.keys(need).length)) return "public";
    return needs.flatMap((need) => Object.values(need).flat())[0] ?? "user";
  };

  const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

  const commandLine = (contract, path, method, operation) => {
    const query = (operation.parameters ?? []).filter((one) => one.in === "query" && one.required).map((one) => `${one.name}=…`);
    const base = new URL(".", location.href).href.replace(/\/$/, "");
    const words = ["curl", method === "get" ? "" : `-X ${method.toUpperCase()}`];
    if (role(contract, operation) !== "public") words.push(`-H "Authorization: Bearer $PUDU_KEY"`);
    const [kind, body] = Object.entries(resolve(contract, operation.requestBody)?.content ?? {})[0] ?? [];
    if (kind) {
      const seen = whole(contract, body.schema);
      const example = body.example ?? seen.example ?? seen.examples?.[0] ?? {};
      words.push(`-H ${quoted(`Content-Type: ${kind}`)}`, `-d ${quoted(JSON.stringify(example))}`);
    }
    words.push(quoted(base + path + (query.length ? `?${query.join("&")}` : "")));
    return words.filter(Boolean).join(" ");
  };

  const shown = (contract, path, method, operation) => {
    const parameters = (operation.parameters ?? []).map((one) => resolve(contract, one));
    const rows = parameters.map((one) => [
      code(one.name), one.in, code(word(contract, one.schema)),
      note(one.required ? "" : "optional", one.description, limits(whole(contract, one.schema))),
    ]);
    const answers = Object.entries(operation.responses ?? {}).map(([status, answer]) => [status, resolve(contract, answer)]);
    const isError = ([, answer]) => JSON.stringify(answer.content ?? {}).includes(ERROR);
    const errors = answers.filter(isError).map(([status, answer]) => [code(status), prose(answer.description)]);
    const others = answers.filter((one) => !isError(one)).flatMap(([status, answer]) => [
      make("h3", {}, `${status}: `, prose(answer.description)), ...content(contract, answer),
    ]);
    return make("details", { id: operation.operationId },
      make("summary", {},
        make("span", { class: "method" }, method.toUpperCase()), code(path),
        make("span", { class: "role" }, role(contract, operation)),
        make("span", { class: "what" }, prose(operation.summary))),
      operation.description ? make("p", {}, prose(operation.description)) : undefined,
      make("pre", {}, code(commandLine(contract, path, method, operation))),
      rows.length ? make("h3", {}, "Parameters") : undefined,
      rows.length ? table(["name", "in", "type", "what"], rows) : undefined,
      operation.requestBody ? make("h3", {}, "Body") : undefined,
      ...content(contract, operation.requestBody),
      ...others,
      errors.length ? make("h3", {}, "Errors, each ", code('{"detail": text}')) : undefined,
      errors.length ? table(["status", "what"], errors) : undefined);
  };

  const open = () => {
    const target = place(decodeURIComponent(location.hash.slice(1)));
    if (target instanceof HTMLDetailsElement) target.open = true;
  };

  const show = (contract) => {
    place("about").textContent = `${contract.info.description ?? ""} Version ${contract.info.version}.`;
    const all = Object.entries(contract.paths).flatMap(([path, item]) =>
      METHODS.filter((method) => item[method]).map((method) => ({ path, method, operation: item[method] })));
    for (const tag of contract.tags) {
      const own = all.filter(({ operation }) => (operation.tags ?? []).includes(tag.name));
      if (!own.length) continue;
      place("contents").append(make("h3", {}, tag.name), make("ul", {}, ...own.map(({ path, method, operation }) =>
        make("li", {}, make("a", { href: `#${operation.operationId}` }, code(`${method.toUpperCase()} ${path}`)), " ", prose(operation.summary)))));
      place("operations").append(make("h2", {}, tag.name), make("p", {}, prose(tag.description)),
        ...own.map(({ path, method, operation }) => shown(contract, path, method, operation)));
    }
    place("state").textContent = `${all.length} operations`;
    addEventListener("hashchange", open);
    open();
  };

  fetch("openapi.json")
    .then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error(`status ${answer.status}`))))
    .then(show)
    .catch((error) => { place("state").textContent = `The contract could not be read: ${error.message}`; });
})();
