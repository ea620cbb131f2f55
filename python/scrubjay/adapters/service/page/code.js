// A search as code, for a program that runs the same search.

// JSON strings are valid Python strings.
const text = (value) => JSON.stringify(value);

// `asked`: {text, scope, k, weight}; weight is the weight of the words from 0 to 1, null if the engine chooses.
export function asPython({ text: question, scope, k, weight }) {
  const parts = [text(scope.tenant), ...["user", "agent"].flatMap((part) => (scope[part] ? [`${part}=${text(scope[part])}`] : []))];
  const query = weight === null ? "" : `    query=scrubjay.Query(scrubjay.Weighted(weights=(${weight}, ${rest(weight)}))),\n`;
  return `import scrubjay

with scrubjay.Index.open("memories.scrubjay", "auto") as index:
    hits = index.search(
        ${text(question)},
        scope=scrubjay.Scope(${parts.join(", ")}),
        k=${k},
${query.replace(/^ {4}/, "        ")}    )
    for hit in hits:
        print(f"{hit.score:.3f}", hit.id, hit.text)
`;
}

export function asCurl({ text: question, scope, k, weight }, hasToken) {
  const body = { text: question, scope, k, ...fusion(weight) };
  const url = new URL("v1/search", document.baseURI).href;
  const token = hasToken ? ` \\\n  -H "authorization: Bearer $SCRUBJAY_TOKEN"` : "";
  return `curl -sS ${quoted(url)} \\\n  -H 'content-type: application/json'${token} \\\n  -d ${quoted(JSON.stringify(body))}\n`;
}

// The weights of the two rankings, as in requests.
export const fusion = (weight) => (weight === null ? {} : { fusion: { method: "weighted", weights: [weight, rest(weight)] } });

const rest = (weight) => Math.round((1 - weight) * 100) / 100;
const quoted = (word) => `'${word.replaceAll("'", `'\\''`)}'`;
