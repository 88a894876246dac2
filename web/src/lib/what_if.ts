// The question of a what-if as the address holds it, and as the API takes it. Pure.
import type {Schemas} from "../api/client";
import {type Amounts, type Written, amountsOf} from "./amounts";

export interface Question {
  days: string;
  add: Record<string, number>; // how many more machines like this one
  without: string[];
  quotas: Record<string, QuotaChange>; // by project
}
export interface QuotaChange {
  guaranteed: Written;
  limit: Written;
  weight: string;
}

const kDays = "14";
type Search = Record<string, string | undefined>;

function quotasOf(text: string | undefined): Question["quotas"] {
  try {
    const found = JSON.parse(text ?? "{}") as Record<string, Partial<QuotaChange>>;
    return Object.fromEntries(
      Object.entries(found).map(([project, one]) => [
        project,
        {guaranteed: one.guaranteed ?? {}, limit: one.limit ?? {}, weight: one.weight ?? ""},
      ]),
    );
  } catch {
    return {};
  }
}

export function questionOf(view: Search): Question {
  const add: Question["add"] = {};
  for (const one of (view.add ?? "").split(",").filter(Boolean)) {
    const [name = "", count] = one.split("=");
    add[name] = Math.max(1, Math.floor(Number(count)) || 1);
  }
  return {
    days: view.days ?? kDays,
    add,
    without: (view.without ?? "").split(",").filter(Boolean),
    quotas: quotasOf(view.quotas),
  };
}

export function searchOf(question: Question): Search {
  const add = Object.entries(question.add).map(([name, count]) => `${name}=${count}`);
  return {
    days: question.days === kDays ? undefined : question.days,
    add: add.join(",") || undefined,
    without: question.without.join(",") || undefined,
    quotas: Object.keys(question.quotas).length > 0 ? JSON.stringify(question.quotas) : undefined,
  };
}

export const changes = (question: Question): number =>
  Object.keys(question.add).length + question.without.length + Object.keys(question.quotas).length;

export function bodyOf(question: Question): Schemas["Input.WhatIf"] {
  const some = (amounts: Amounts) => (Object.keys(amounts).length > 0 ? amounts : undefined);
  return {
    days: Number(question.days) || Number(kDays),
    add: Object.entries(question.add).map(([like, count]) => ({like, count})),
    without: question.without,
    quotas: Object.fromEntries(
      Object.entries(question.quotas).map(([project, one]) => [
        project,
        {
          guaranteed: some(amountsOf(one.guaranteed)),
          limit: some(amountsOf(one.limit)),
          weight: Number(one.weight) || 1,
        },
      ]),
    ),
  };
}
