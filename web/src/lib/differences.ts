// What of several records differs. Pure.
export interface Compared {
  key: string;
  values: (string | undefined)[]; // by record
  differs: boolean;
}

export function compared(records: readonly (Record<string, string> | undefined)[]): Compared[] {
  const keys = new Set(records.flatMap((one) => Object.keys(one ?? {})));
  return [...keys]
    .sort((a, b) => a.localeCompare(b, "en", {numeric: true}))
    .map((key) => {
      const values = records.map((one) => one?.[key]);
      return {key, values, differs: values.some((value) => value !== values[0])};
    });
}
