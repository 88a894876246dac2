// The roles that one may have in a project, from the least on.
export const kRoles = [
  ["viewer", "viewer: looks"],
  ["member", "member: submits jobs, makes models and datasets"],
  ["maintainer", "maintainer: also members and secrets"],
  ["admin", "admin: everything in it and below it"],
] as const;
