// The rights of the token: null, or a sentence with the reason for refusal. The service checks all rights itself.

const PARTS = ["tenant", "user", "agent"];

export function mayWrite(who, scope) {
  if (!who.can.includes("write")) return "This token may only read.";
  const bound = PARTS.filter((part) => who[part] !== null && (scope[part] ?? null) !== who[part]);
  if (bound.length === 0) return null;
  return `It is shared by all of ${scope.tenant}; this token may change only what is ${who.user ?? who.agent}'s own.`;
}

// Records are changed in their own scope; global policies cannot be changed here.
export function mayChange(who, record) {
  if (record.kind === "policy" && record.tenant === null) return "A policy of all tenants: only who runs the service changes it.";
  return mayWrite(who, scopeOf(record));
}

// Only tenants confirm, not users.
export function mayConfirm(who, record) {
  const reason = mayChange(who, record);
  if (reason !== null) return reason;
  return who.user === null && who.agent === null ? null : "Only a token of the tenant may confirm, not one of a user.";
}

export const mayErase = (who) => (who.can.includes("erase") ? null : "This token may not erase a whole scope.");

// The exact scope of a record as in requests: without null parts.
export function scopeOf(record) {
  const scope = record.kind === "policy" ? { tenant: record.tenant } : record.scope;
  return Object.fromEntries(PARTS.flatMap((part) => (scope[part] ? [[part, scope[part]]] : [])));
}
